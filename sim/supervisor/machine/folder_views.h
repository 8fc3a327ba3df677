// Copy-on-write views of working folders (verbs_shim/protocol/folder_view.h), for runs that must not change
// them. The copy starts empty. When a path first leads into a folder, its entries are created: subfolders
// without entries, files with size and attributes but without content, symbolic links complete. Content is
// copied when a file is first opened; ELF files and files of 16 MiB or more that are opened for reading only
// are used in place. From then on the copy alone counts, so removed, moved and new names need no marks.
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

// "folder", "file", "link", "fifo", "socket", as in FolderSnapshot; otherwise "device".
std::string kind_of(mode_t mode);

class FolderViews {
 public:
  // `place`: folder of the copies, created when first needed. `originals`: absolute paths without links; "/"
  // and folders below other originals are ignored. `expected`: modification times that replace the machine's;
  // outlives the views, or nullptr.
  FolderViews(std::string place, std::vector<std::string> originals, const FolderSnapshot* expected);

  const std::vector<std::string>& originals() const { return originals_; }
  // Path of the copy of `path`, whether or not it exists yet; "": `path` is in no view.
  std::string copy_of(const std::string& path) const;
  // Inverse of copy_of; "": `copy` is no copy.
  std::string original_of(const std::string& copy) const;

  struct Prepared {
    int error = 0;      // errno
    std::string path;   // path to use
  };
  // Creates everything that the call needs of the copy at `path`; `use`: bits kView….
  Prepared prepare(const std::string& path, std::int64_t use);

  // A new file of the program; it may reuse the inode number of a removed copy.
  void note_made(std::uint64_t device, std::uint64_t inode);
  // A program has read the names in this folder.
  void note_listed(std::uint64_t device, std::uint64_t inode);
  // Fills in the attributes of the file that programs see.
  void look(protocol::ViewedFile& file);

  // After the end of all programs: removes from the copies everything that equals its original. Returns the
  // copies that are not empty.
  std::vector<std::string> drop_unchanged();

  // Creates the copies, empty, for users that need them to exist. Returns 0 or an errno.
  int make_roots();

  // Originals that paths have led to, sorted by name; `opened`: those whose content programs may have read.
  FolderSnapshot snapshot() const;

 private:
  using Id = std::pair<std::uint64_t, std::uint64_t>;  // device and inode of a copy
  struct Known {
    std::string original;  // path of the original; empty: the run has created the file
    struct stat status {};  // of the original, with the modification time that programs see
    bool is_pending = false;  // folder whose entries, or file whose content, is not copied yet
    std::uint64_t number = 0;  // inode number that programs see, for a file that the run has created
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
  std::map<Id, std::string> linked_;  // originals with several names: path of the first copy
  std::map<std::string, FolderSnapshot::Entry> met_;
  std::map<std::string, bool> opened_;
  std::uint64_t made_ = 0;    // number of files that the run has created
  std::uint64_t device_ = 0;  // device number that programs see for these
};

}  // namespace verbatim::supervisor
