// Files of a run on the machine: the folder with the hosts' own folders, views of working folders, rules that
// confine programs to folders, and what is left for the user at the end.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/supervisor/machine/confinement.h"
#include "sim/supervisor/machine/run_folder.h"
#include "sim/supervisor/run_context.h"
#include "sim/supervisor/spec/program_spec.h"
#include "sim/supervisor/tasks/request.h"

namespace verbatim::supervisor {

class Process;

class Kernel;
class RunReport;
class Thread;

class RunFiles {
 public:
  RunFiles(const RunContext& run, RunReport& report, Kernel& kernel)
      : run_(run), report_(report), kernel_(kernel) {}

  // Creates the folders of each host before its first program starts; called once. Finishes the run if a host
  // has more rows of paths than a program can get.
  void make(const std::vector<ProgramSpec>& programs);
  // A program is to be started on a host on which the scenario starts none.
  void add_host(std::size_t host, const std::vector<ProgramSpec>& programs);
  // Ruleset of Landlock for programs of the host; -1 without --confine.
  int ruleset_of(std::size_t host);

  // Ends the run, or warns, if a question had no answer in the record of the machine's files.
  void report_unknown(Process& process);
  // Answer about a path in a view of a working folder (verbs_shim/protocol/folder_view.h); the mailbox of the
  // thread has its path.
  std::int64_t answer_about_view(Thread& thread, const request::View& asked);

  // At the end of the run: reports the files that are left, keeps copies of them, and removes the folders.
  void finish(const std::function<bool()>& is_interrupted);

 private:
  void show_remote_shell(std::size_t host);
  void add_host(std::size_t host, const std::vector<const ProgramSpec*>& programs);
  void warn_of_other_run(const std::string& folder);

  const RunContext& run_;
  RunReport& report_;
  Kernel& kernel_;
  std::unique_ptr<RunFolder> own_folder_;
  RunFolder* folder_ = nullptr;
  std::map<std::size_t, Confinement> confinements_;  // by host, once it has started a program
  std::set<std::string> met_other_run_in_;           // folders about which warn_of_other_run has warned
};

}  // namespace verbatim::supervisor
