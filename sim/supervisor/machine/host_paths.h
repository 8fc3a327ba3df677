// Maps paths of a simulated host to native paths: the supervisor's side of verbs_shim/protocol/path_view.h.
// Programs see host paths only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/supervisor/machine/confinement.h"
#include "sim/supervisor/machine/folder_views.h"
#include "sim/supervisor/machine/process_region.h"

namespace verbatim::supervisor {

// Folders of a host's own on the machine. They are created when a path first leads to one of them: most
// programs never use them, and thousands of hosts have tens of thousands of folders. Only one thread runs at
// a time, so no program sees them half created.
struct OwnFolders {
  struct Folder {
    std::string real;
    std::uint32_t mode;
  };
  std::vector<Folder> folders;  // parents first; all are below the first
  std::int64_t time_seconds = 0;

  // Creates the folders unless they exist. Returns 0 or an errno.
  int make() const;
};

class HostPaths {
 public:
  // The host path `seen` refers to the native path `real`: absolute paths without "." and "..", without a
  // trailing slash. If both are equal, the machine's files are visible there.
  void add(const std::string& seen, const std::string& real);
  // The same for a file of the machine.
  void show(const std::string& seen, const std::string& real) {
    add(seen, real);
    machines_.insert(seen);
  }

  // Folders created when a path first leads there.
  void set_folders(std::shared_ptr<const OwnFolders> folders) { folders_ = std::move(folders); }
  void make_folders() const;
  // `listener` gets the errno if the machine refuses one of these folders.
  void report_refused_folders_to(std::function<void(int)> listener) { on_refused_folder_ = std::move(listener); }

  // Views of working folders, shared by all hosts of a run.
  void set_views(std::shared_ptr<FolderViews> views) { views_ = std::move(views); }
  FolderViews* views() const { return views_.get(); }
  // Native folders, absolute and without links, that programs work in without a view.
  void set_shared(std::vector<std::string> folders) { shared_ = std::move(folders); }

  // Native path, not translated into a view.
  std::string native(const std::string& seen) const;
  // Native path for immediate use; creates folders and entries of views that it needs. `use`: bits kView…,
  // for a file in a view.
  std::string native_in_use(const std::string& seen, std::int64_t use = protocol::kViewLists) const;
  std::string seen(const std::string& native) const;

  // Follows the links of `path` as a program of the host would. `follows_last`: also a link at its end.
  // `error`: 0 or ELOOP. `seen` has no links as far as it exists; `native` is for immediate use, as by
  // native_in_use(). A path into a tree ends there, with both as they are.
  struct Followed {
    int error = 0;
    std::string seen, native;
  };
  Followed follow(const std::string& path, bool follows_last, std::int64_t use) const;
  // Native path for exec of the program at `seen`.
  std::string executable(const std::string& seen) const;
  // Whether all of the machine's files are seen through a view (folder_views.h).
  bool views_all() const { return views_ != nullptr && views_->views_all(); }

  // Whether `path`, without "." and "..", is at or below a row.
  bool has_row(const std::string& path) const { return row_of_seen(path) != nullptr; }
  // Whether the supervisor generates the files at `path` (trees).
  bool in_tree(const std::string& path) const;

  // Limits where programs of the host, and the simulator for them, may create files.
  void confine(const Confinement& confinement) { confinement_ = &confinement; }
  bool may_make(const std::string& native) const { return confinement_ == nullptr || confinement_->allows(native); }

  // Whether store() has room for all rows.
  bool fit() const;
  // Stores the table for the runtime in a process; `working_folder`: its working folder if that is in a tree.
  void store(ProcessRegion& region, const std::string& working_folder) const;

 private:
  const std::pair<std::string, std::string>* row_of_seen(const std::string& path) const;
  struct Row {
    std::string seen, real;
    bool is_view, is_shared;
  };
  std::vector<Row> table() const;
  std::string copy_in_view(const std::string& native) const;  // "": in no view
  std::string copy_of_seen(const std::string& seen) const;    // "": in no view
  std::vector<std::pair<std::string, std::string>> rows_;  // longer names first
  std::set<std::string> machines_;  // `seen` of rows for files of the machine
  std::shared_ptr<const OwnFolders> folders_;
  std::function<void(int)> on_refused_folder_;
  std::shared_ptr<FolderViews> views_;
  std::vector<std::string> shared_;
  const Confinement* confinement_ = nullptr;  // nullptr: no limit
};

// Working folder of the process if it is in a tree; empty: the kernel keeps it.
std::string working_folder_of(ProcessRegion& region);

}  // namespace verbatim::supervisor
