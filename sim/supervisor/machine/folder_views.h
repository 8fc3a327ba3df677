// Copy-on-write views of folders (verbs_shim/protocol/folder_view.h), for runs that must not change the machine's
// working folders, and for runs that see a record of the machine (machine_files.h): their view is "/". The copy
// starts empty. When a path first leads to a name, its entry is created; when a folder is about to be listed,
// changed or removed, all its entries are: subfolders without entries, files with size and attributes but without
// content, symbolic links complete. Content is copied when a file is first opened; ELF files and files of 16 MiB
// or more that are opened for reading only are used in place. After an entry was created, or found missing, the
// copy alone counts, so removed, moved and new names need no marks.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/supervisor/machine/machine_files.h"
#include "sim/supervisor/spec/folder_snapshot.h"
#include "verbs_shim/protocol/folder_view.h"

namespace verbatim::supervisor {

// "folder", "file", "link", "fifo", "socket", as in FolderSnapshot; otherwise "device".
std::string kind_of(mode_t mode);

class FolderViews {
 public:
  // `place`: folder of the copies, created when first needed. `originals`: absolute paths without links; "/"
  // and folders below other originals are ignored. `expected`: modification times that replace the machine's;
  // outlives the views, or nullptr. `all`: the files that programs see in place of the machine's; the only
  // original is then "", the root; outlives the views. nullptr: the machine's files.
  FolderViews(std::string place, std::vector<std::string> originals, const FolderSnapshot* expected,
              MachineFiles* all = nullptr);

  const std::vector<std::string>& originals() const { return originals_; }
  // Whether all paths lead into the view of "/".
  bool views_all() const { return views_all_; }
  MachineFiles& files() const { return files_; }
  // Path of the copy of `path`, whether or not it exists yet; "": `path` is in no view.
  std::string copy_of(const std::string& path) const;
  // Inverse of copy_of, also for files used in place; "": `copy` is neither.
  std::string original_of(const std::string& copy) const;

  struct Prepared {
    int error = 0;      // errno
    std::string path;   // path to use
  };
  // Creates everything that the call needs of the copy at `path`; `use`: bits kView….
  Prepared prepare(const std::string& path, std::int64_t use);

  // Native path for exec of the program at `seen`, which is stored at `native`.
  std::string executable(const std::string& seen, const std::string& native);

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
    std::string original;  // path of the original, if there is one
    struct stat status {};  // of the original, with the modification time that programs see
    bool is_pending = false;  // folder without some of its entries, or file without its content
    bool is_in_place = false;  // not a copy: a file of the record that is used itself
    std::uint64_t number = 0;  // inode number that programs see, for a file that the run has created
    std::set<std::string> made;  // names in a folder that were created, or found missing

    bool has_original() const { return number == 0; }
  };

  void note_in_place(int file, const Known& original);
  int make_root(std::size_t view);
  int make_entries(const std::string& copy, const struct stat& status, Known& folder, std::span<const std::string> names);
  int expand(const std::string& copy, const struct stat& status, Known& folder);
  int make_entry(const std::string& copy, const std::string& original);
  int fill(const std::string& copy, Known& file);
  Known* known(const struct stat& status);
  bool is_copy_of(const std::string& copy, const struct stat& original);
  void make_links_of_changed_files();
  bool drop_unchanged_in(const std::string& folder);

  std::string place_;
  MachineFiles& files_;
  const bool views_all_;
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
