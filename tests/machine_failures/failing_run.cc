#include "tests/machine_failures/failing_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/command.h"
#include "tests/machine_failures/functions.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::machine_failures {
namespace {

using support::TemporaryFolder;
using support::text_of_file;

constexpr int kBug = 70, kMachine = 71;  // exit codes of README.md

// The first process of the namespaces. It leaves in $1 the names of processes that are there two seconds
// after the run.
constexpr char kFirstProcess[] = R"(
left=$1; shift
timeout -s KILL 30 "$@"
code=$?
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  others=
  for process in /proc/[0-9]*; do
    [ $process = /proc/1 ] || { read name < $process/comm && others="$others $name"; } 2> /dev/null
  done
  [ -n "$others" ] || break
  sleep 0.1
done
echo $others > $left
exit $code
)";

std::vector<std::string> confined(const std::string& left) {
  return {"unshare", "--pid", "--fork",      "--kill-child", "--mount-proc",
          "sh",      "-c",    kFirstProcess, "sh",           left};
}

std::string sole_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

bool can_confine() {
  static const bool can =
      cli::run_command({"unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "true"}).code == 0;
  return can;
}

std::vector<std::pair<std::string, std::vector<std::string>>> functions() {
  constexpr const char* kErrors[] = {
#define FAILING_ERRORS(name, errors) errors,
      FAILING_FUNCTIONS(FAILING_ERRORS)
#undef FAILING_ERRORS
  };
  std::vector<std::pair<std::string, std::vector<std::string>>> all;
  for (int i = 0; i < kFunctions; ++i) {
    std::istringstream words(kErrors[i]);
    auto& errors = all.emplace_back(kNames[i], std::vector<std::string>()).second;
    for (std::string word; words >> word;) errors.push_back(word);
  }
  return all;
}

Outcome run_with(const Failure& failure, const Outcome* usual) {
  const TemporaryFolder folder;
  const std::string uses = folder.path() + "/uses", left = folder.path() + "/left",
                    out = folder.path() + "/out";
  std::filesystem::create_directory(folder.path() + "/tmp");
  std::ofstream(uses) << std::string(4096, '\0');
  const std::string wanted = failure.function + ":" + failure.error + ":" + std::to_string(failure.use);
  std::vector<std::string> words = confined(left);
  const std::vector<std::string> command = {
      "env",
      "TMPDIR=" + folder.path() + "/tmp",
      "LD_PRELOAD=" FAILING_MACHINE_LIBRARY,
      "FAILING_MACHINE=" + wanted,
      "FAILING_MACHINE_USES=" + uses,
      VERBATIM_PROGRAM,
      "run",
      "--json",
      "--out",
      out,
      "--keep-trace",
      "--pcap",
      out + "/capture.pcapng",
      "--topology",
      cli::kTopology,
      "server=ibv_rc_pingpong -n 5",
      "client=ibv_rc_pingpong -n 5 server",
      "client=sh -c 'echo hello > /tmp/file; sleep 1; cat /tmp/file | wc -l'"};
  words.insert(words.end(), command.begin(), command.end());
  const cli::Finished run = cli::run_command(words);

  Outcome outcome{.code = run.code, .err = run.err};
  outcome.command = "FAILING_MACHINE=" + wanted;
  const std::string counters = text_of_file(uses);
  for (int i = 0; i < kFunctions; ++i) {
    unsigned count = 0;
    std::memcpy(&count, counters.data() + 4 * i, 4);
    outcome.uses[kNames[i]] = count;
  }
  if (std::filesystem::exists(out)) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(out)) {
      if (entry.is_regular_file()) outcome.files[entry.path().lexically_relative(out)] = entry.file_size();
    }
  }
  const auto document = nlohmann::json::parse(run.out, nullptr, false);
  if (document.is_object() && document.contains("run") && document["run"].contains("digest"))
    outcome.digest = document["run"]["digest"].get<std::string>();

  std::string& wrong = outcome.wrong;
  const std::string processes = sole_line(text_of_file(left));
  if (run.code >= 128 || run.code == kBug || run.code < 0)
    wrong += "ended with code " + std::to_string(run.code) + "; ";
  if (!processes.empty()) wrong += "left the processes " + processes + "; ";
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() + "/tmp"))
    wrong += "left " + entry.path().filename().string() + " in the folder for temporary files; ";
  const std::string report = text_of_file(out + "/run.json");
  if (!report.empty() && nlohmann::json::parse(report, nullptr, false).is_discarded())
    wrong += "run.json is cut; ";
  if (usual == nullptr) return outcome;
  // The digest may differ if the run says why, see README.md.
  constexpr const char* kWarning = "; its content is not part of the digest";
  const bool is_warned = run.err.find(kWarning) != std::string::npos || run.out.find(kWarning) != std::string::npos;
  if (run.code == 0 && !is_warned) {
    if (outcome.digest != usual->digest) wrong += "has the digest " + outcome.digest + "; ";
    if (outcome.files.size() != usual->files.size()) wrong += "files are missing; ";
    for (const auto& [name, size] : outcome.files) {
      const auto found = usual->files.find(name);
      // run.json has numbers of the machine.
      const bool has_fixed_size = name != "run.json";
      if (found == usual->files.end() || (size != found->second && has_fixed_size))
        wrong += name + " has another size; ";
    }
  } else if (run.code == 1 || run.code == 2 || run.code == kMachine) {
    const bool says =
        run.err.find("verbatim: ") != std::string::npos || run.out.find("\"message\"") != std::string::npos;
    if (!says) wrong += "ended with code " + std::to_string(run.code) + " without a sentence; ";
  } else if (wrong.empty() && run.code != 0) {
    wrong += "ended with code " + std::to_string(run.code) + "; ";
  }
  if (!wrong.empty())
    wrong += "it printed: " + run.err.substr(0, 600) + (run.code != 0 ? run.out.substr(0, 300) : "");
  return outcome;
}

const Outcome& usual_run() {
  static const Outcome usual = run_with({"read", "EIO", 0}, nullptr);
  return usual;
}

void expect_right_ends(const Function& of, bool every_use) {
  if (!can_confine()) GTEST_SKIP() << "needs PID namespaces (root)";
  const auto& [function, errors] = of;
  ASSERT_EQ(usual_run().wrong, "");
  ASSERT_EQ(usual_run().code, 0) << usual_run().err;
  const unsigned most = usual_run().uses.at(function);
  ASSERT_GT(most, 0u) << "the run does not call " << function << ": remove it from functions.h";
  std::set<unsigned> uses;
  for (unsigned use = 1; use <= most; ++use) {
    // Uses of `open` differ most: the run's folder, files of /proc, descriptors of programs, code.
    const unsigned step = function == "open" ? std::max(most / 12, 1u) : most;
    if (every_use || use <= 2 || use == most / 2 || use == most || use % step == 0) uses.insert(use);
  }
  for (const std::string& error : errors) {
    std::map<int, unsigned> codes;
    for (const unsigned use : uses) {
      const Outcome outcome = run_with({function, error, use}, &usual_run());
      ++codes[outcome.code];
      EXPECT_EQ(outcome.wrong, "") << "use " << use << " of " << function << " fails with " << error << ": "
                                   << outcome.command;
    }
    std::string ends;
    for (const auto& [code, times] : codes)
      ends += ", code " + std::to_string(code) + ": " + std::to_string(times);
    std::printf("%-18s %-7s %5zu runs%s\n", function.c_str(), error.c_str(), uses.size(), ends.c_str());
  }
}

}  // namespace verbatim::machine_failures
