// Runs the same run again, in a process of its own.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "sim/supervisor/machine/waiting.h"
#include "tools/verbatim/bundle_run.h"
#include "tools/verbatim/interrupted.h"
#include "tools/verbatim/prefault.h"
#include "tools/verbatim/progress.h"
#include "tools/verbatim/run_plan.h"

namespace verbatim::cli {

std::vector<std::string> words_of(const RunOptions& options) {
  std::vector<std::string> words;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  // Those of a bundle are taken from it again.
  const auto add_all = [&](const char* name, std::vector<std::string> RunOptions::*list) {
    const std::size_t packed = options.bundle != nullptr ? (options.bundle->options().*list).size() : 0;
    for (std::size_t i = packed; i < (options.*list).size(); ++i) add(name, (options.*list)[i]);
  };
  add("--freedom", options.freedom);
  if (options.spec_faults) add("--spec-faults", std::to_string(*options.spec_faults));
  if (options.spec_failing_calls) add("--spec-failing-calls", std::to_string(*options.spec_failing_calls));
  if (options.spec_failures) add("--spec-failures", std::to_string(*options.spec_failures));
  if (options.spec_accesses) words.push_back("--spec-accesses");
  if (options.seed) add("--seed", std::to_string(*options.seed));
  if (options.bundle == nullptr) add("--topology", options.topology);
  if (options.stagger != RunOptions().stagger) add("--stagger", options.stagger);
  add_all("--range", &RunOptions::ranges);
  add_all("--set", &RunOptions::sets);
  add("--time-limit", options.time_limit);
  add("--wall-limit", options.wall_limit);
  add("--stuck-after", options.stuck_after);
  add_all("--fault", &RunOptions::faults);
  add_all("--check", &RunOptions::checks);
  if (options.poke_period_us != 0) add("--poke-period", std::to_string(options.poke_period_us));
  if (options.call_by_call) words.push_back("--call-by-call");
  if (options.plants_address) words.push_back("--plant-address");
  if (options.strict != RunOptions().strict) add("--strict", options.strict);
  if (options.confine) words.push_back("--confine");
  for (const std::string& name : options.assume_missing) add("--assume-missing", name);
  if (options.core >= 0) add("--core", std::to_string(options.core));
  add("--second-core", options.second_core);
  if (options.bundle != nullptr) {
    words.push_back(options.bundle->path());
    return words;
  }
  const bool like_option = std::any_of(options.arguments.begin(), options.arguments.end(),
                                       [](const std::string& argument) { return argument.starts_with('-'); });
  if (like_option) words.push_back("--");
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  return words;
}

pid_t start_child(ChildOutput output, int file, const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = supervisor::fork_process();
  if (child != 0) return child;
  // The run ends with this process, and its programs end with the run.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kInternalError);
  prefault_in_child();
  forget_progress();
  end_silently_when_interrupted();
  if (output != ChildOutput::kInherited) {
    const int to = output == ChildOutput::kNone ? ::open("/dev/null", O_WRONLY) : file;
    ::dup2(to, 1);
    if (output != ChildOutput::kAnswerInFile) ::dup2(to, 2);
  }
  int code = kInternalError;
  try {
    code = body();
  } catch (const std::exception& e) {
    complain(std::string("internal error: ") + e.what());
  }
  std::fflush(nullptr);
  ::_exit(code);
}

pid_t start_again(std::vector<std::string> words, ChildOutput output, int file) {
  return start_child(output, file, [&] {
    std::string program = "verbatim", verb = "run";
    std::vector<char*> argv = {program.data(), verb.data()};
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv("/proc/self/exe", argv.data());
    return static_cast<int>(kInternalError);
  });
}

}  // namespace verbatim::cli
