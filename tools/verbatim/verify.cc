// `run --verify`: runs twice, in processes with different addresses, and reports the first record in which
// the traces differ.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sim/config/simulation.h"
#include "sim/observe/recorder.h"
#include "sim/supervisor/machine/run_folder.h"
#include "sim/supervisor/machine/waiting.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/progress.h"
#include "tools/verbatim/run_plan.h"
#include "tools/verbatim/watch.h"
#include "tools/verbatim/worker_pool.h"

namespace verbatim::cli {

namespace {

// A file without a name, which vanishes with the last process that has it open.
int open_record() {
  int fd = ::open(supervisor::temporary_folder().c_str(), O_TMPFILE | O_RDWR, 0600);
  if (fd < 0) fd = ::memfd_create("verbatim-record", 0);
  return fd;
}

// Exit code of the run; kInterrupted if the user ended it, 70 if it was killed.
int run_in_process(const RunOptions& options, int record_fd, bool first, int answer_fd) {
  std::vector<std::string> words = {"--record-fd", std::to_string(record_fd), "--log", options.log};
  if (first) {
    if (!options.out.empty()) words.insert(words.end(), {"--out", options.out});
    if (!options.record.empty()) words.insert(words.end(), {"--record", options.record});
    if (!options.record.empty() && options.record_most >= 0)
      words.insert(words.end(), {"--record-most", std::to_string(options.record_most)});
    if (options.keep_trace) words.push_back("--keep-trace");
    if (!options.trace.empty()) words.insert(words.end(), {"--trace", options.trace});
    if (!options.pcap.empty()) words.insert(words.end(), {"--pcap", options.pcap, "--pcap-per", options.pcap_per});
    if (!options.calls.empty()) words.insert(words.end(), {"--calls", options.calls});
    if (!options.series.empty()) words.insert(words.end(), {"--series", options.series});
    if (!options.series_step.empty()) words.insert(words.end(), {"--series-step", options.series_step});
    const std::vector<std::string> watch = watch_words(options);
    words.insert(words.end(), watch.begin(), watch.end());
    if (options.snap_length != 0) words.insert(words.end(), {"--snap-length", std::to_string(options.snap_length)});
    if (!options.explain_latency.empty()) words.push_back("--explain-latency=" + options.explain_latency);
  } else {
    // Heap and stack are at other addresses in the second run even without address randomisation.
    words.insert(words.end(), {"--pad", "1234567"});
    ::setenv("VERBATIM_SECOND_RUN", std::string(4321, 'x').c_str(), 1);
  }
  const bool has_answer = first && options.style.json;
  if (has_answer) words.push_back("--json");
  if (options.style.quiet || !first) words.push_back("--quiet");
  const std::vector<std::string> rest = words_of(options);
  words.insert(words.end(), rest.begin(), rest.end());
  // The first run has already printed the second one's messages.
  const ChildOutput output = has_answer ? ChildOutput::kAnswerInFile : first ? ChildOutput::kInherited : ChildOutput::kNone;
  const pid_t child = start_again(std::move(words), output, answer_fd);
  if (child < 0) return kInternalError;
  const auto [status, is_interrupted] = supervisor::await_child(child);
  if (is_interrupted) return kInterrupted;
  return WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(kInternalError);
}

}  // namespace

int run_verify(const RunPlan& plan, const RunOptions& options, Answer* answer) {
  const int first = open_record();
  const int second = open_record();
  const int told = ::memfd_create("verbatim-answer", MFD_CLOEXEC);
  if (first < 0 || second < 0 || told < 0) {
    complain(std::string("cannot make a temporary file: ") + std::strerror(errno) +
             "; set TMPDIR; nothing was started");
    return kUsage;
  }
  const int code = run_in_process(options, first, true, told);
  const auto of_first = Answer::Json::parse(content_of(told), nullptr, false);
  ::close(told);
  for (const char* name : {"run", "wrong"}) {
    if (answer != nullptr && of_first.is_object() && of_first.contains(name)) answer->document()[name] = of_first[name];
  }
  if (code == kInterrupted) complain("verify: interrupted in the first run");
  if (code == kUsage || code == kInternalError || code == kInterrupted || code == kMachineFault) return code;
  Progress progress(options.style.is_for_people());
  progress.show("verify: second run");
  const int second_code = run_in_process(options, second, false, -1);
  if (second_code == kInterrupted) {
    complain("verify: interrupted in the second run; the first ended with exit code " + std::to_string(code));
    return kInterrupted;
  }
  if (second_code == kMachineFault) {
    clear_progress();
    complain("verify: the machine ended the second run, or had no room for its record in " + supervisor::temporary_folder() +
             ", so the runs were not compared; the first ended with exit code " + std::to_string(code));
    return kMachineFault;
  }
  progress.show("verify: comparing the two traces");
  const auto divergence = observe::compare(first, second);
  ::close(first);
  ::close(second);
  clear_progress();
  const auto differs = [&](const std::string& how) -> int {
    complain("verify: " + how);
    if (answer != nullptr) answer->document()["verify"] = {{"same", false}, {"difference", how}};
    return kProgramFailed;
  };
  if (divergence) {
    const ComponentTable components(config::Simulation::component_names(plan.scenario.topology));
    std::string text = observe::to_text(*divergence, components);
    text.pop_back();
    return differs(text);
  }
  if (code != second_code) {
    return differs("the traces are the same, but the first run ended with exit code " + std::to_string(code) +
                   " and the second with " + std::to_string(second_code));
  }
  if (answer != nullptr) answer->document()["verify"] = {{"same", true}};
  if (options.style.is_for_people()) std::fprintf(stderr, "verbatim: verify: both runs have the same trace\n");
  return code;
}

}  // namespace verbatim::cli
