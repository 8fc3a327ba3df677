// `run --verify`: the run twice, each in a process of its own whose addresses lie elsewhere, and the first
// record in which the two traces differ.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sim/config/simulation.h"
#include "sim/observe/recorder.h"
#include "tools/verbatim/run_plan.h"

namespace verbatim::cli {

namespace {

// A file without a name: it goes when the last process that holds it does, however that ends.
int open_record() {
  const char* folder = std::getenv("TMPDIR");
  int fd = ::open(folder != nullptr && *folder != '\0' ? folder : "/tmp", O_TMPFILE | O_RDWR, 0600);
  if (fd < 0) fd = ::memfd_create("verbatim-record", 0);
  return fd;
}

std::vector<std::string> arguments_of(const RunOptions& options, int record_fd, bool first) {
  std::vector<std::string> words = {"verbatim", "run",      "--record-fd", std::to_string(record_fd),
                                    "--log",    options.log};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  add("--topology", options.topology);
  add("--stagger", options.stagger);
  add("--time-limit", options.time_limit);
  add("--stuck-after", options.stuck_after);
  for (const std::string& fault : options.faults) add("--fault", fault);
  if (options.seed) add("--seed", std::to_string(*options.seed));
  if (options.poke_period_us != 0) add("--poke-period", std::to_string(options.poke_period_us));
  if (options.call_by_call) words.push_back("--call-by-call");
  if (options.core >= 0) add("--core", std::to_string(options.core));
  if (first) {
    add("--out", options.out);
    add("--trace", options.trace);
    add("--pcap", options.pcap);
  } else {
    // Heap and stack lie elsewhere in the second run even where addresses are not randomised.
    add("--pad", "1234567");
  }
  if (options.quiet || !first) words.push_back("--quiet");
  words.push_back("--");
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  return words;
}

// Exit code of the run; 70 when it did not end by itself.
int run_in_process(const RunOptions& options, int record_fd, bool first) {
  std::vector<std::string> words = arguments_of(options, record_fd, first);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return kInternalError;
  if (child == 0) {
    // Whoever ends this process ends the run with it, and the run its programs.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(kInternalError);
    if (!first) {
      // What it finds wrong has been said by the first run.
      const int null = ::open("/dev/null", O_WRONLY);
      ::dup2(null, 1);
      ::dup2(null, 2);
      ::setenv("VERBATIM_SECOND_RUN", std::string(4321, 'x').c_str(), 1);
    }
    ::execv("/proc/self/exe", argv.data());
    ::_exit(kInternalError);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(kInternalError);
}

}  // namespace

int run_verify(const RunPlan& plan, const RunOptions& options) {
  const int first = open_record();
  const int second = open_record();
  if (first < 0 || second < 0) {
    complain(std::string("cannot make a temporary file: ") + std::strerror(errno) +
             "; set TMPDIR; nothing was started");
    return kUsage;
  }
  const int code = run_in_process(options, first, true);
  if (code == kUsage || code == kInternalError) return code;
  const int second_code = run_in_process(options, second, false);
  const auto divergence = observe::compare(first, second);
  ::close(first);
  ::close(second);
  if (divergence) {
    const ComponentTable components(config::Simulation::component_names(plan.scenario.topology));
    std::string text = observe::to_text(*divergence, components);
    text.pop_back();
    complain("verify: " + text);
    return kProgramFailed;
  }
  if (code != second_code) {
    complain("verify: the traces are the same, but the first run ended with exit code " +
             std::to_string(code) + " and the second with " + std::to_string(second_code));
    return kProgramFailed;
  }
  if (!options.quiet) std::fprintf(stderr, "verbatim: verify: two runs, one trace\n");
  return code;
}

}  // namespace verbatim::cli
