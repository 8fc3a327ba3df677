// Copy-on-write views of the folders that programs work in (verbs_shim/protocol/folder_view.h), for runs that leave them as they
// are. The copy starts empty. When a path first leads into a folder, its entries are made: subfolders empty, files with their
// size and attributes but without content, symbolic links whole. Content is copied when a file is first opened; a program, a
// library or a large file that is only read stays where it is. From then on the copy alone counts, so names that are removed,
// moved or made need no marks.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/supervisor/spec/folder_snapshot.h"
#include "verbs_shim/protocol/folder_view.h"

namespace verbatim::supervisor {

// "folder", "file", "link", "fifo", "socket", as in FolderSnapshot; "device".
std::string kind_of(mode_t mode);

class FolderViews {
 public:
  // `place`: a folder that is made when first needed. `originals`: absolute paths without links; those below others are left out,
  // and so is the root. `expected`: times of modification that take the place of the machine's; outlives the views, or nullptr.
  FolderViews(std::string place, std::vector<std::string> originals, const FolderSnapshot* expected);

  const std::vector<std::string>& originals() const { return originals_; }
  // Where the copy of `path` is, whether or not it has been made; "": the path is not in a view.
  std::string copy_of(const std::string& path) const;
  // The other direction; "": `copy` is none.
  std::string original_of(const std::string& copy) const;

  struct Prepared {
    int error = 0;      // errno
    std::string path;   // to use
  };
  // Makes what the call needs of the copy at `path` in it; `use`: bits kView….
  Prepared prepare(const std::string& path, std::int64_t use);

  // A new file: whatever had its inode number before is gone.
  void note_made(std::uint64_t device, std::uint64_t inode);
  void note_listed(std::uint64_t device, std::uint64_t inode);
  // Fills the answer.
  void look(protocol::ViewedFile& file);

  // When all programs have ended: removes from the copies what is as the original is. Returns the copies that are not empty then.
  std::vector<std::string> drop_unchanged();

  // Makes the copies, empty, for whoever needs them to be there. errno, else 0.
  int make_roots();

  // The originals that paths have led to, in the order of their names; `opened`: those whose content may have been read.
  FolderSnapshot snapshot() const;

 private:
  using Id = std::pair<std::uint64_t, std::uint64_t>;  // device, inode; of a copy
  struct Known {
    std::string original;  // path; empty: the run has made it
    struct stat status {};  // of the original, with the time of modification that programs see
    bool is_pending = false;  // a folder without its entries, a file without its content
    std::uint64_t number = 0;  // inode number that programs see, of a file that the run has made
  };

  int make_root(std::size_t view);
  int expand(const std::string& copy, Known& folder);
  int make_entry(const std::string& copy, const std::string& original);
  int fill(const std::string& copy, Known& file);
  Known* known(const struct stat& status);
  bool is_copy_of(const std::string& copy, const struct stat& original);
  bool drop_unchanged_in(const std::string& folder);

  std::string place_;
  std::vector<std::string> originals_;
  std::vector<bool> has_root_;
  std::map<std::string, const FolderSnapshot::Entry*> expected_;
  std::map<Id, Known> known_;
  std::map<Id, std::string> linked_;  // originals with several names: the first copy
  std::map<std::string, FolderSnapshot::Entry> met_;
  std::map<std::string, bool> opened_;
  std::uint64_t made_ = 0;    // files of the run
  std::uint64_t device_ = 0;  // that programs see of these
};

}  // namespace verbatim::supervisor
