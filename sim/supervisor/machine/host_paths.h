// Where the files of a simulated host lie on the machine: the table of verbs_shim/protocol/path_view.h from this side.
// Programs know every file by the path that they see; only the simulator and the kernel know the other one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/supervisor/machine/confinement.h"
#include "sim/supervisor/machine/folder_views.h"
#include "sim/supervisor/machine/process_region.h"

namespace verbatim::supervisor {

// What a host has of its own on the machine. Most programs never go there, and thousands of hosts have tens of thousands of
// folders: they are made when a path first leads to one of them. Only one thread runs at a time, so nobody sees them half made.
struct OwnFolders {
  struct Folder {
    std::string real;
    std::uint32_t mode;
  };
  std::vector<Folder> folders;  // above it before below it; all lie in the first
  std::int64_t time_seconds = 0;

  // Unless they are there. 0 or errno.
  int make() const;
};

class HostPaths {
 public:
  // What is seen at `seen` lies at `real`: absolute paths without "." and "..", without a slash at their end. Where both
  // are the same the machine's files show through.
  void add(const std::string& seen, const std::string& real);

  // Folders that are made when a path first leads there.
  void set_folders(std::shared_ptr<const OwnFolders> folders) { folders_ = std::move(folders); }
  int make_folders() const { return folders_ == nullptr ? 0 : folders_->make(); }  // 0 or errno

  // Views of the machine's folders, for all hosts of a run.
  void set_views(std::shared_ptr<FolderViews> views) { views_ = std::move(views); }
  FolderViews* views() const { return views_.get(); }
  // Folders of the machine, absolute and without links, that programs work in without a view.
  void set_shared(std::vector<std::string> folders) { shared_ = std::move(folders); }

  // Views aside.
  std::string native(const std::string& seen) const;
  // The path that is about to be used. `use`: bits kView… of what happens there, for a file in a view.
  std::string native_in_use(const std::string& seen, std::int64_t use = protocol::kViewLists) const;
  std::string seen(const std::string& native) const;
  // Whether `path`, without "." and "..", is at or below a row.
  bool has_row(const std::string& path) const { return row_of_seen(path) != nullptr; }
  // Whether the supervisor makes up what lies there.
  bool in_tree(const std::string& path) const;

  // Programs of the host change files where `confinement` allows it, and so does the simulator for them.
  void confine(const Confinement& confinement) { confinement_ = &confinement; }
  bool may_make(const std::string& native) const { return confinement_ == nullptr || confinement_->allows(native); }

  // Whether store() has room for all rows.
  bool fit() const;
  // For the runtime in a process; it works in `working_folder` when that is in a tree.
  void store(ProcessRegion& region, const std::string& working_folder) const;

 private:
  const std::pair<std::string, std::string>* row_of_seen(const std::string& path) const;
  struct Row {
    std::string seen, real;
    bool is_view, is_shared;
  };
  std::vector<Row> table() const;
  std::string copy_in_view(const std::string& native) const;  // "": it is in none
  std::vector<std::pair<std::string, std::string>> rows_;  // longer names first
  std::shared_ptr<const OwnFolders> folders_;
  std::shared_ptr<FolderViews> views_;
  std::vector<std::string> shared_;
  const Confinement* confinement_ = nullptr;  // nullptr: everywhere
};

// Where the process works, when that is in a tree; empty: the kernel knows.
std::string working_folder_of(ProcessRegion& region);

}  // namespace verbatim::supervisor
