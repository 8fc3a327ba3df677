#include "tests/waits/scoreboard.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "tests/cli/command.h"
#include "tests/support/cpu_time.h"

namespace verbatim::waits {

namespace {

std::string path_of(const std::string& variant) { return std::string(WAITS_FOLDER) + "/" + variant; }

}  // namespace

// The cases that are not proven, each with its reason. They are executed, at the program's own speed if their
// calls need no answer of the simulator.
std::set<std::string> not_proven(const std::string& variant) {
  std::set<std::string> cases = {
      // Its next step depends on a random number generator.
      "random_queue",
      // Another process sees values between two polls or clock reads.
      "alternates_in_shared_memory", "alternates_between_clocks",
      // The loop reads at one address what it stores to another.
      "stores_to_a_mirror",
      // It stores to memory that frames of the poll might overwrite.
      "counts_below_its_stack",
      // There is no poll.
      "clock_and_flag",
      // Two readings of one clock in a turn are compared.
      "cycles_between"};
  // The sanitizer delays the reuse of freed memory.
  if (variant == "gcc-asan") cases.insert({"coroutines_in_a_deque", "reactor_that_allocates"});
  return cases;
}

bool is_built(const std::string& variant) { return access(path_of(variant).c_str(), X_OK) == 0; }

namespace {

std::vector<std::string> cases_in(const std::string& variant, bool are_continued) {
  std::istringstream lines(cli::run_command({path_of(variant), "list"}).out);
  std::vector<std::string> cases;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with("in_hundreds") == are_continued) cases.push_back(line);
  }
  return cases;
}

}  // namespace

std::vector<std::string> cases_of(const std::string& variant) { return cases_in(variant, false); }
std::vector<std::string> continued_cases_of(const std::string& variant) { return cases_in(variant, true); }

support::RunRequest request(const std::string& variant, const std::string& wait_case, int microseconds) {
  const std::string command = support::quoted(path_of(variant)) + " " + wait_case + " " + std::to_string(microseconds);
  return {.commands = {"server=" + command, "client=" + command + " server"}};
}

Score score(const std::string& variant, const std::string& wait_case, int microseconds, const std::string& time_limit) {
  support::RunRequest asked = request(variant, wait_case, microseconds);
  asked.options = {"--stuck-after", "2s", "--time-limit", time_limit};
  Score score;
  const double before = support::cpu_of_children();
  score.run = support::run(asked);
  score.cpu_seconds = support::cpu_of_children() - before;
  if (score.run.code != 0 || !score.run.report.is_object()) {
    score.reason = "exit code " + std::to_string(score.run.code);
    return score;
  }
  // Parked for nearly the whole wait, however many threads take part in it.
  double parked_us = 0;
  for (const auto& thread : score.run.report["waiting"]) {
    const std::string name = thread["thread"];
    if (name.find("client") != 0) continue;
    parked_us += thread["parked_ps"].get<double>() * 1e-6;
    if (score.reason.empty()) score.reason = thread["not_proven"];
  }
  constexpr int kHandOversOfARun = 450;  // most of them at its start, with AddressSanitizer
  if (parked_us > 0.9 * microseconds) {
    score.how = How::kByProof;
  } else if (score.run.report["hand_overs"] < kHandOversOfARun) {
    score.how = How::kByEffect;
  }
  return score;
}

void expect_parked(const std::string& variant, const std::set<std::string>& known) {
  int counts[3] = {};
  for (const std::string& wait_case : cases_of(variant)) {
    // A sleep that grows to a millisecond is parked after some turns.
    const Score result = score(variant, wait_case, wait_case == "sleeps_ever_longer" ? 400'000 : 2'000);
    ++counts[static_cast<int>(result.how)];
    static constexpr const char* kNames[] = {"by proof", "by effect", "not"};
    if (result.how != How::kByProof) {
      std::printf("%-10s %-28s %-9s %6.0f ms CPU  %s\n", variant.c_str(), wait_case.c_str(),
                  kNames[static_cast<int>(result.how)], result.cpu_seconds * 1e3, result.reason.c_str());
    }
    EXPECT_EQ(result.how == How::kByProof, known.count(wait_case) == 0)
        << variant << " " << wait_case << ": "
        << (known.count(wait_case) == 0 ? "is not parked" : "is parked now: take it off the list")
        << result.run.story();
    EXPECT_NE(result.how, How::kNot) << variant << " " << wait_case << result.run.story();
    EXPECT_EQ(result.run.code, 0) << variant << " " << wait_case << result.run.story();
  }
  std::printf("%-10s parked by proof %d, by effect %d, not %d\n", variant.c_str(), counts[0], counts[1], counts[2]);
}

}  // namespace verbatim::waits
