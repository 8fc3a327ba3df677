// A program writes random values to one kind of place, several such programs with a value each, while two
// other programs of the host transfer data: these print the same and end as without it.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::RunReport;

constexpr std::size_t kBystanders = 2;

struct Case {
  const char* name;
  std::vector<std::string> kinds;
  bool call_by_call;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

// A wild program may sleep for ever: it ends with the others.
RunReport run_with(const std::vector<std::string>& wild, bool call_by_call, const std::vector<std::string>& options = {}) {
  support::RunRequest request;
  request.commands = {"server=" + support::quoted(BYSTANDER_PROGRAM),
                      "server=" + support::quoted(BYSTANDER_PROGRAM) + " server"};
  for (const std::string& arguments : wild) {
    request.commands.push_back("server=" + support::quoted(HOSTILE_PROGRAM) + " " + arguments + " &");
  }
  request.options = {"--stagger", "5ms", "--time-limit", "20 s"};
  if (call_by_call) request.options.push_back("--call-by-call");
  request.options.insert(request.options.end(), options.begin(), options.end());
  return support::run(request);
}

// Output of one of the bystanders, and its end.
std::string output_of(const RunReport& run, std::size_t program) {
  const auto& entry = run.report["programs"][program];
  return run.outputs.at(entry["stdout"]) + run.outputs.at(entry["stderr"]) + "exit code " +
         entry["exit_code"].dump() + ", signal " + entry["signal"].dump();
}

class Hostile : public ::testing::TestWithParam<Case> {};

RunReport run_kind(const std::string& kind, bool call_by_call) {
  std::vector<std::string> wild;
  for (const char* value : {HOSTILE_VALUES}) wild.push_back(kind + " " + value);
  return run_with(wild, call_by_call);
}

void expect_that_nobody_notices(const std::string& kind, bool call_by_call, const RunReport& alone, const RunReport& tame) {
  SCOPED_TRACE(kind);
  const RunReport run = run_kind(kind, call_by_call);
  ASSERT_TRUE(run.code == 0 || run.code == 1) << run.story();
  ASSERT_EQ(run.report["outcome"], "finished") << run.story();
  for (std::size_t i = 0; i < kBystanders; ++i) EXPECT_EQ(output_of(run, i), output_of(alone, i)) << run.story();
  for (std::size_t i = kBystanders; i < run.report["programs"].size(); ++i) {
    const std::string& said = run.outputs.at(run.report["programs"][i]["stdout"]);
    EXPECT_NE(said.find("has everything\n"), std::string::npos) << "it did not come as far\n" << run.story();
    EXPECT_NE(said.find("wrote it\n"), std::string::npos) << "it was not done when the others were\n" << run.story();
  }
  EXPECT_NE(run.digest(), tame.digest()) << "what it did had no effect";
  // Memory that the simulator reads is read at a moment of virtual time. (Words of a slot and of the header by which the two
  // hand the token over are another matter: a thread that takes it without having got it, or seems to have given it back, runs
  // at a moment of the machine's.)
  const bool takes_the_token = kind == "slot" || kind == "message" || kind == "anywhere";
  if (!call_by_call && !takes_the_token) {
    EXPECT_EQ(run.digest(), run_kind(kind, call_by_call).digest()) << run.story();
  }
}

// Runs with the bystanders alone, and with a program that writes nothing: made once for all that is compared with them.
const std::pair<RunReport, RunReport>& undisturbed(bool call_by_call) {
  static std::map<bool, std::pair<RunReport, RunReport>> runs;
  const auto [it, is_new] = runs.try_emplace(call_by_call);
  if (is_new) it->second = {run_with({}, call_by_call), run_kind("nothing", call_by_call)};
  return it->second;
}

TEST_P(Hostile, nobody_else_notices) {
  const Case& one = GetParam();
  const auto& [alone, tame] = undisturbed(one.call_by_call);
  ASSERT_EQ(alone.code, 0) << alone.story();
  ASSERT_EQ(tame.code, 0) << tame.story();
  for (const std::string& kind : one.kinds) expect_that_nobody_notices(kind, one.call_by_call, alone, tame);
}

// One value in every byte from the start on, by several threads at once, as far as the program lives.
TEST(ConstantFills, harm_nobody_else) {
  for (const bool call_by_call : {false, true}) {
    const RunReport& alone = undisturbed(call_by_call).first;
    for (const char* value : {"0", "1", "17", "127", "255"}) {
      SCOPED_TRACE(value);
      const RunReport run = run_with({std::string("fill ") + value}, call_by_call);
      EXPECT_TRUE(run.code == 0 || run.code == 1) << run.story();
      EXPECT_EQ(run.report["outcome"], "finished") << run.story();
      for (std::size_t i = 0; i < kBystanders; ++i) EXPECT_EQ(output_of(run, i), output_of(alone, i)) << run.story();
      EXPECT_EQ(run.err.find("came from outside"), std::string::npos) << run.story();
    }
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const bool call_by_call : {false, true}) {
    all.push_back({"queues", {"send_ring", "receive_ring", "shared_ring", "xrc_ring", "completion_ring"}, call_by_call});
    all.push_back({"records",
                   {"queue_pair_record", "shared_record", "xrc_record", "completion_record", "doorbells", "queued_doorbells"},
                   call_by_call});
    all.push_back({"region", {"header", "arena"}, call_by_call});
    all.push_back({"slot", {"slot", "message", "mailbox", "anywhere"}, call_by_call});
    all.push_back({"calls", {"requests", "system_calls", "work_requests", "channels"}, call_by_call});
    all.push_back({"memory", {"own_memory_gone", "region_gone", "shim_heap", "touches"}, call_by_call});
  }
  return all;
}

// Random words at random places of all that is shared, by processes that are made for it: their programs end as they like.
enum class Way { kSlices, kCallByCall, kLateAccesses };

const char* name_of(Way way) {
  return way == Way::kSlices ? "slices" : way == Way::kCallByCall ? "call_by_call" : "late_accesses";
}

// Code at which a thread may be delayed is writable by the program: one that changes it may loop for ever
// without a call. Virtual time does not advance then, so the run ends, with that program's error.
bool computes_for_ever(const RunReport& run) {
  return run.code == 4 && run.report["outcome"] == "stuck" &&
         std::regex_search(run.err, std::regex("hostile \\(pid [0-9]+\\) has been computing for"));
}

class Scribblers : public ::testing::TestWithParam<Way> {};

TEST_P(Scribblers, harm_nobody_else) {
  constexpr int kPrograms = 3;
  const bool call_by_call = GetParam() == Way::kCallByCall;
  std::vector<std::string> options;
  if (GetParam() == Way::kLateAccesses)
    options = {"--freedom", "spec", "--seed", "7", "--spec-accesses", "--stuck-after", "10s"};
  constexpr int kMostWithoutEnd = 5;
  int without_end = 0;
  const RunReport alone = run_with({}, call_by_call, options);
  ASSERT_EQ(alone.code, 0) << alone.story();
  for (int i = HOSTILE_FIRST; i <= HOSTILE_LAST; ++i) {
    std::vector<std::string> wild;
    for (int program = 0; program < kPrograms; ++program) wild.push_back("anywhere " + std::to_string(kPrograms * i + program));
    SCOPED_TRACE(wild.front() + " and the next");
    const RunReport run = run_with(wild, call_by_call, options);
    if (GetParam() == Way::kLateAccesses && computes_for_ever(run)) {
      EXPECT_LE(++without_end, kMostWithoutEnd) << run.story();
      for (std::size_t one = 0; one < kBystanders; ++one) {
        const std::string name = alone.report["programs"][one]["stdout"];
        ASSERT_TRUE(alone.outputs.at(name).starts_with(run.outputs.at(name))) << run.story();
      }
      continue;
    }
    ASSERT_TRUE(run.code == 0 || run.code == 1) << run.story();
    ASSERT_EQ(run.report["outcome"], "finished") << run.story();
    for (std::size_t one = 0; one < kBystanders; ++one) ASSERT_EQ(output_of(run, one), output_of(alone, one)) << run.story();
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Scribblers, ::testing::Values(Way::kSlices, Way::kCallByCall, Way::kLateAccesses),
                         [](const auto& info) { return name_of(info.param); });
INSTANTIATE_TEST_SUITE_P(Kinds, Hostile, ::testing::ValuesIn(cases()), [](const auto& info) {
  return std::string(info.param.name) + (info.param.call_by_call ? "_call_by_call" : "");
});

}  // namespace
}  // namespace verbatim
