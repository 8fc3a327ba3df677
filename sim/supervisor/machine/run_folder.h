// Private folders of each host: /tmp, /var/tmp, /dev/shm, /run, /dev/hugepages and the home folders of its
// programs. They are stored below one folder of the run, which is removed with the run. If the simulator is
// killed, a keeper program (tools/keeper) removes it; the next run removes leftovers.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/supervisor/machine/folder_views.h"
#include "sim/supervisor/machine/host_paths.h"
#include "sim/supervisor/machine/kept_files.h"
#include "sim/supervisor/spec/host_spec.h"
#include "sim/supervisor/spec/program_spec.h"

namespace verbatim::supervisor {

// Parent of the folders of runs: TMPDIR if it is an absolute path, otherwise /tmp.
std::string temporary_folder();

// Whether `name` has the form of a run folder's name.
bool is_run_folder(const std::string& name);

class RunFolder {
 public:
  // Creates the folder in temporary_folder(); throws std::system_error if this fails. `keeper_program`
  // removes it if the simulator is killed (tools/keeper); empty: the next run removes it.
  explicit RunFolder(const std::string& keeper_program = {});
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // Removes the folders of all hosts with their content; other hosts can be added.
  void clear();

  // Waits until the keepers of removed folders have ended, so that none of them remains as a child process.
  static void await_ended_keepers();

  // Adds the folders of one host for `programs` on it, their files, and rows in `paths`. Unless a program is
  // given a file, the folders are created when a path first leads there. Machine files that the scenario
  // names are visible: the working folders of programs, the folders of their executables, and paths in
  // arguments and environment.
  void add_host(const HostSpec& host, const std::vector<const ProgramSpec*>& programs, std::int64_t epoch_seconds,
                HostPaths& paths);

  // Makes programs see copies of their working folders; called before add_host(). `expected`: modification
  // times that replace the machine's (folder_views.h), or nullptr.
  void view_working_folders(const std::vector<ProgramSpec>& programs, const FolderSnapshot* expected);
  // Makes programs see all files of the machine as `files` has them, through a view of "/"; called before
  // add_host(). `files` outlives the views.
  void view_machine(MachineFiles& files);
  // Lets programs work in the folders themselves, and publishes this to other runs; called before add_host().
  void share_working_folders(const std::vector<ProgramSpec>& programs);
  // Pid of another run with the same temporary folder whose programs also work in `folder`; 0: none.
  pid_t other_run_in(const std::string& folder) const;
  const FolderViews* views() const { return views_.get(); }
  const std::string& path() const { return path_; }

  struct Host {
    std::string name;
    std::string folder;                // parent of all folders of its own
    std::set<std::string> made_first;  // relative paths of folders created by the simulator, not by a program
    std::shared_ptr<const OwnFolders> to_make;
  };
  const std::vector<Host>& hosts() const { return hosts_; }

  // Copies the hosts' folders to `folder`/HOST/…, and new or changed files of views to
  // `folder`/working-folder, `folder`/working-folder-2, … Only clear() and the destructor may follow.
  KeptFiles keep_in(const std::string& folder, const std::function<bool()>& is_interrupted);

 private:
  MachineFiles& files() const { return views_ == nullptr ? real_files() : views_->files(); }
  void keep(const std::string& keeper_program);
  void release_keeper();
  // False: the folder is another run's, or was removed as a leftover.
  bool make_locked(const std::string& folder);

  std::string path_;
  int lock_ = -1;
  int alive_ = -1;   // pipe; its end without a byte makes the keeper remove the folder
  int read_end_ = -1;  // of that pipe: writing stays without error if the keeper has ended
  int keeper_ = -1;    // pid
  std::vector<Host> hosts_;
  std::shared_ptr<FolderViews> views_;
  std::vector<std::string> shared_;
  std::map<std::string, std::string> real_paths_;  // cache of real_path_of()
};

}  // namespace verbatim::supervisor
