// A program that writes nonsense into one kind of place, several of them with a value each, while two other
// programs of the same host transfer data: whatever becomes of it, these print and end as they do without it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::RunReport;

constexpr std::size_t kBystanders = 2;

struct Case {
  const char* kind;
  bool call_by_call;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.kind; }
};

// A wild program may sleep for ever: it ends with the others.
RunReport run_with(const std::vector<std::string>& wild, bool call_by_call) {
  support::RunRequest request;
  request.commands = {"server=" + support::quoted(BYSTANDER_PROGRAM),
                      "server=" + support::quoted(BYSTANDER_PROGRAM) + " server"};
  for (const std::string& arguments : wild) {
    request.commands.push_back("server=" + support::quoted(HOSTILE_PROGRAM) + " " + arguments + " &");
  }
  request.options = {"--stagger", "5ms", "--time-limit", "20 s"};
  if (call_by_call) request.options.push_back("--call-by-call");
  return support::run(request);
}

// What one of the bystanders said, and how it ended.
std::string output_of(const RunReport& run, std::size_t program) {
  const auto& entry = run.report["programs"][program];
  return run.outputs.at(entry["stdout"]) + run.outputs.at(entry["stderr"]) + "exit code " +
         entry["exit_code"].dump() + ", signal " + entry["signal"].dump();
}

class Hostile : public ::testing::TestWithParam<Case> {};

RunReport run_kind(const std::string& kind, bool call_by_call) {
  std::vector<std::string> wild;
  for (const char* value : {"0", "1", "17", "1000", "2147483648", "4294967295"})
    wild.push_back(kind + " " + value);
  return run_with(wild, call_by_call);
}

TEST_P(Hostile, nobody_else_notices) {
  const auto& [kind, call_by_call] = GetParam();
  const RunReport alone = run_with({}, call_by_call), tame = run_kind("nothing", call_by_call);
  ASSERT_EQ(alone.code, 0) << alone.story();
  ASSERT_EQ(tame.code, 0) << tame.story();
  const RunReport run = run_kind(kind, call_by_call);
  ASSERT_TRUE(run.code == 0 || run.code == 1) << run.story();
  ASSERT_EQ(run.report["outcome"], "finished") << run.story();
  for (std::size_t i = 0; i < kBystanders; ++i)
    EXPECT_EQ(output_of(run, i), output_of(alone, i)) << run.story();
  for (std::size_t i = kBystanders; i < run.report["programs"].size(); ++i) {
    const std::string& said = run.outputs.at(run.report["programs"][i]["stdout"]);
    EXPECT_NE(said.find("has everything\n"), std::string::npos) << "it did not come as far\n" << run.story();
    EXPECT_NE(said.find("wrote it\n"), std::string::npos) << "it was not done when the others were\n"
                                                          << run.story();
  }
  EXPECT_NE(run.digest(), tame.digest()) << "what it did had no effect";
  // Memory that the simulator reads is read at a moment of virtual time. (Words of a slot by which the two
  // hand the token over are another matter: a thread that takes it without having got it runs at a moment of
  // the machine's.)
  const bool takes_the_token = kind == std::string("slot") || kind == std::string("anywhere");
  if (!call_by_call && !takes_the_token) {
    EXPECT_EQ(run.digest(), run_kind(kind, call_by_call).digest()) << run.story();
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* kind : {"send_ring",
                           "queue_pair_record",
                           "receive_ring",
                           "shared_ring",
                           "shared_record",
                           "xrc_ring",
                           "xrc_record",
                           "completion_ring",
                           "completion_record",
                           "arena",
                           "doorbells",
                           "queued_doorbells",
                           "slot",
                           "header",
                           "mailbox",
                           "requests",
                           "system_calls",
                           "anywhere",
                           "work_requests",
                           "channels",
                           "own_memory_gone",
                           "region_gone",
                           "shim_heap"}) {
    for (const bool call_by_call : {false, true}) all.push_back({kind, call_by_call});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Kinds, Hostile, ::testing::ValuesIn(cases()), [](const auto& info) {
  return std::string(info.param.kind) + (info.param.call_by_call ? "_call_by_call" : "");
});

}  // namespace
}  // namespace verbatim
