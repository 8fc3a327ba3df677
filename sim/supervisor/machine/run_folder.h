// The folders that each host has of its own: /tmp, /var/tmp, /dev/shm, /run, /dev/hugepages and the home folders of its
// programs. They lie on the real disk below one folder of the run, which goes with the run, also when it is killed: a small
// program waits for that. What is left all the same the next run removes.
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

// The machine's folder that runs make theirs in: that of TMPDIR where it is an absolute path, else /tmp.
std::string temporary_folder();

// Whether a run makes its folder by that name.
bool is_run_folder(const std::string& name);

class RunFolder {
 public:
  // In the machine's temporary folder; throws std::system_error when it cannot be made. `keeper_program` removes it when the
  // simulator ends by force (tools/keeper); empty: nobody does before the next run.
  explicit RunFolder(const std::string& keeper_program = {});
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // The hosts' folders go with all that is in them; those of other hosts can be added.
  void clear();

  // The processes that guarded folders which are gone end while the simulator goes on; afterwards none of them is a child.
  static void await_ended_keepers();

  // The folders of one host for `programs` of it, with the files that these are given, and rows for `paths`; where no program is
  // given a file they are made when a path first leads there. What the scenario names of the machine shows through: where a
  // program works, and the folder that its file is in.
  void add_host(const HostSpec& host, const std::vector<const ProgramSpec*>& programs, std::int64_t epoch_seconds,
                HostPaths& paths);

  // Programs see copies of the folders that they work in from now on; before add_host(). `expected`: as in FolderViews.
  void view_working_folders(const std::vector<ProgramSpec>& programs, const FolderSnapshot* expected);
  // Programs work in the folders themselves, and other runs can find that out; likewise before add_host().
  void share_working_folders(const std::vector<ProgramSpec>& programs);
  // The process of another run whose programs work in `folder`, too, of those with the same temporary folder; 0: none.
  pid_t other_run_in(const std::string& folder) const;
  const FolderViews* views() const { return views_.get(); }

  struct Host {
    std::string name;
    std::string folder;                // that all of its own folders lie in
    std::set<std::string> made_first;  // folders in it, paths from there on, that no program has made
    std::shared_ptr<const OwnFolders> to_make;
  };
  const std::vector<Host>& hosts() const { return hosts_; }

  // Copies what the hosts have in their folders to `folder`/HOST/…, and what programs have made or changed in views to
  // `folder`/working-folder, of a second one -2, and so on. Only clear() and the end are left to do then.
  KeptFiles keep_in(const std::string& folder, const std::function<bool()>& is_interrupted);

 private:
  void keep(const std::string& keeper_program);
  void release_keeper();
  // False: it is another one's, or was taken for a leftover.
  bool make_locked(const std::string& folder);

  std::string path_;
  int lock_ = -1;
  int alive_ = -1;   // closed without a word when the simulator ends by force: the keeper then removes the folder
  int read_end_ = -1;  // of that pipe: a keeper that is gone does not make writing to it an error
  int keeper_ = -1;    // a process
  std::vector<Host> hosts_;
  std::shared_ptr<FolderViews> views_;
  std::vector<std::string> shared_;
  std::map<std::string, std::string> real_paths_;  // of the machine, as they were asked for
};

}  // namespace verbatim::supervisor
