// Every case of cases.c gives the line that expected.txt has for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "tests/equality/both_modes.h"

namespace verbatim {
namespace {

// "name: what happened" lines, by name.
std::map<std::string, std::string> cases_of(const std::string& text) {
  std::map<std::string, std::string> cases;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    EXPECT_TRUE(cases.emplace(line.substr(0, colon), line.substr(colon + 1)).second) << "twice: " << line;
  }
  return cases;
}

// A handler that runs when a command's response arrives makes calls itself.
TEST(Semantics, commands_keep_their_answers_when_a_handler_makes_calls) {
  support::RunRequest request;
  request.commands = {"server=" + support::quoted(INTERRUPTED_PROGRAM)};
  const auto runs = equality::run_both(request);
  equality::expect_equal(runs);
  EXPECT_EQ(runs.slices.code, 0) << runs.slices.story();
  EXPECT_EQ(runs.slices.output("server"), "300 right, interrupted 1\n");
}

TEST(Semantics, threads_that_wait_for_events_can_be_cancelled) {
  support::RunRequest request;
  request.commands = {"server=" + support::quoted(CANCELLED_PROGRAM)};
  const auto runs = equality::run_both(request);
  equality::expect_equal(runs);
  EXPECT_EQ(runs.slices.output("server"),
            "waiting: 1 1\nbefore they wait: 1 1\ncleaned: 4\nthe adapter goes on: 1\n");
}

// Results of each source in turn; the other kinds of waits find the same.
TEST(Semantics, events_are_waited_for_among_other_descriptors) {
  support::RunRequest request;
  request.commands = {"server=" + support::quoted(EVENT_MIX_PROGRAM)};
  const auto runs = equality::run_both(request);
  equality::expect_equal(runs);
  std::string expected = "at first: nothing\n  newly: nothing\n";
  const std::pair<std::string, std::string> kSources[] = {{"completion", "completion async"},
                                                          {"pipe", "pipe"},
                                                          {"timer", "timer"},
                                                          {"counter", "counter"},
                                                          {"socket", "socket"}};
  for (const auto& [first, all] : kSources) {
    expected += "the first: " + first + "\nthen: " + all + "\n  newly: " + all + "\nstill: " + all +
                "\n  newly: nothing\ntaken: nothing\n  newly: nothing\n";
  }
  const std::string everything = "completion async pipe timer counter socket\n";
  EXPECT_EQ(runs.slices.output("server"),
            expected + "everything: " + everything + "  newly: " + everything);
}

// Values of topologies/profiles/cpu.json, ns. Each measurement ends with a clock read.
TEST(Semantics, calls_cost_what_the_profile_says) {
  support::RunRequest request;
  request.commands = {"server=" + support::quoted(COSTS_PROGRAM)};
  const auto runs = equality::run_both(request);
  equality::expect_equal(runs);
  ASSERT_EQ(runs.slices.code, 0) << runs.slices.story();
  constexpr double kClock = 25, kPostSend = 14.99, kSend = kPostSend + 45.11 + 21.07, kInlineLine = 10;
  constexpr double kPostRecv = 15, kRecv = 15, kPollEmpty = 20, kPollEntry = 61.63, kArm = 30, kSystemCall = 200;
  constexpr double kCounter = 10, kCommand = 20'000;
  const std::map<std::string, double> expected = {
      {"receive", kPostRecv + kRecv},
      {"list of two receives", kPostRecv + 2 * kRecv},
      {"command", kCommand},
      {"100 empty polls", 100 * kPollEmpty},
      {"4 sends", 4 * kSend},
      {"poll of 4 completions", kPollEmpty + 4 * kPollEntry},
      {"4 sends of inline data", 4 * (kSend + kInlineLine)},
      {"4 refused sends", 4 * kPostSend},
      {"arm", kArm},
      {"system call", kSystemCall},
      {"system call and counter", kSystemCall + kCounter}};
  const auto seen = cases_of(runs.slices.output("server"));
  EXPECT_EQ(seen.size(), expected.size());
  for (const auto& [name, cost] : expected) {
    ASSERT_TRUE(seen.contains(name)) << name;
    EXPECT_NEAR(std::stod(seen.at(name)), cost + kClock, 0.99) << name << ", clocks show whole nanoseconds";
  }
}

TEST(Semantics, every_case_is_as_the_table_says) {
  support::RunRequest request;
  request.commands = {"server=" + support::quoted(CASES_PROGRAM)};
  const auto runs = equality::run_both(request);
  equality::expect_equal(runs);
  ASSERT_EQ(runs.slices.code, 0) << runs.slices.story();
  const auto expected = cases_of(support::text_of_file(EXPECTED));
  const auto seen = cases_of(runs.slices.output("server"));
  EXPECT_GE(expected.size(), 60u);
  for (const auto& [name, line] : expected) {
    const auto it = seen.find(name);
    EXPECT_EQ(it == seen.end() ? " (not run)" : it->second, line) << name;
  }
  for (const auto& [name, line] : seen) {
    EXPECT_TRUE(expected.contains(name)) << "not in the table: " << name << ":" << line;
  }
  // Failures are reported with their reasons, equally in both modes.
  const auto& diagnoses = runs.slices.report.at("diagnoses");
  EXPECT_EQ(diagnoses, runs.call_by_call.report.at("diagnoses"));
  EXPECT_GT(diagnoses.size(), 100u);
  const char* const kTold[] = {"ibv_post_send: EINVAL: QP ", "ibv_modify_qp: EINVAL: ", "completes with remote access error: LID 2",
                               "no receive is posted for Send Only", "ibv_destroy_srq: EBUSY: 1 queue pairs"};
  for (const char* told : kTold) {
    EXPECT_TRUE(std::any_of(diagnoses.begin(), diagnoses.end(), [&](const auto& one) {
      return one.at("text").template get<std::string>().find(told) != std::string::npos;
    })) << told;
  }
  // Multicast packets are sent to the whole fabric: the other host gets them, but has not joined.
  std::size_t forwarded = 0, dropped = 0;
  std::istringstream trace(runs.slices.trace);
  for (std::string line; std::getline(trace, line);) {
    if (line.find("dest_qp=16777215") == std::string::npos) continue;
    forwarded += line.find("packet-forwarded") != std::string::npos ? 1 : 0;
    dropped += line.find("hca/client  packet-dropped") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(forwarded, 2u);
  EXPECT_EQ(dropped, 2u);
}

}  // namespace
}  // namespace verbatim
