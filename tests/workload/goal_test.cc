// GOAL text as a message graph; errors are refused with their line.
#include "sim/workload/goal.h"

#include <gtest/gtest.h>

#include "tests/workload/star_fabric.h"

namespace verbatim::workload {
namespace {

GoalProgram read(std::string_view text) {
  std::vector<GoalFinding> findings;
  std::optional<GoalProgram> program = read_goal(text, findings);
  for (const GoalFinding& finding : findings) ADD_FAILURE() << finding.line << ": " << finding.text;
  if (!program) throw std::runtime_error("refused");
  return std::move(*program);
}

std::vector<std::string> refusals(std::string_view text) {
  std::vector<GoalFinding> findings;
  EXPECT_FALSE(read_goal(text, findings).has_value());
  std::vector<std::string> lines;
  for (const GoalFinding& finding : findings) {
    EXPECT_FALSE(finding.hint.empty());
    lines.push_back(std::to_string(finding.line) + ": " + finding.text);
  }
  return lines;
}

using Lines = std::vector<std::string>;

constexpr std::string_view kPingPong = R"(num_ranks 2

rank 0 {   // the first
  l1: calc 100 cpu 0
  l2: send 10b to 1 tag 5 cpu 0 nic 0
  l3: recv 20b from 1
  l2 requires l1
  l3 irequires l2
}
/* the
   other */
rank 1 {
  a: recv 10 b from -1 tag -1
  b: send 20b to 0
  b requires a
}
)";

TEST(GoalTest, a_file_is_read) {
  const GoalProgram program = read(kPingPong);
  Lines operations;
  for (OperationId id = 0; id < program.graph.size(); ++id) operations.push_back(text_of(program.graph[id]));
  EXPECT_EQ(operations,
            (Lines{"rank 0: computation of 100 ns", "rank 0: send of 10 bytes to rank 1, tag 5",
                   "rank 0: receive of 20 bytes from rank 1, tag 0", "rank 1: receive of 10 bytes from any rank, any tag",
                   "rank 1: send of 20 bytes to rank 0, tag 0"}));
  EXPECT_EQ(program.lines, (std::vector<std::uint32_t>{4, 5, 6, 13, 14}));
  ASSERT_EQ(program.graph.successors(0).size(), 1u);
  EXPECT_EQ(program.graph.successors(0)[0].id, 1u);
  EXPECT_EQ(program.graph.successors(0)[0].needs_end, 1u);
  EXPECT_EQ(program.graph.successors(1)[0].needs_end, 0u);
}

TEST(GoalTest, a_file_runs) {
  test::StarRun run(read(kPingPong).graph, {.sends_are_buffered = true});
  run.go();
  EXPECT_TRUE(run.run->is_complete());
  EXPECT_GT(to_ps(run.run->finish()), 100'000);
}

// The same blocks in another order.
TEST(GoalTest, the_order_of_blocks_changes_nothing) {
  const std::string zero = "rank 0 {\na: send 70000b to 1\nb: recv 5b from 1\nb requires a\n}\n";
  const std::string one = "rank 1 {\na: send 5b to 0\nrecv 70000b from 0\n}\n";
  std::vector<std::string> digests;
  for (const std::string& text : {zero + one, one + zero}) {
    test::StarRun run(read("num_ranks 2\n" + text).graph, {.eager_bytes = 65536, .sends_are_buffered = true});
    run.go();
    EXPECT_TRUE(run.run->is_complete());
    digests.push_back(run.fabric.digest());
  }
  EXPECT_EQ(digests[0], digests[1]);
}

TEST(GoalTest, labels_may_be_used_before_their_line) {
  const GoalProgram program = read("num_ranks 1\nrank 0 { b requires a; a: calc 1; b: calc 2 }");
  EXPECT_EQ(program.graph.successors(0).size(), 1u);
}

TEST(GoalTest, bad_lines_are_refused_with_their_numbers) {
  EXPECT_EQ(refusals(""), (Lines{"1: expected \"num_ranks\", found the end of the file"}));
  EXPECT_EQ(refusals("num_ranks 0\n"), (Lines{"1: there are no ranks"}));
  EXPECT_EQ(refusals("num_ranks 99999999999999999999\n"),
            (Lines{"1: a number of ranks of \"99999999999999999999\" is too large"}));
  EXPECT_EQ(refusals("num_ranks 1048577\n"), (Lines{"1: a number of ranks of \"1048577\" is too large"}));
  EXPECT_EQ(refusals("num_ranks 2\n"), (Lines{"2: no rank has an operation"}));
  EXPECT_EQ(refusals("num_ranks 2\nrank 2 {\n}\n").front(), "2: there is no rank 2");
  EXPECT_EQ(refusals("num_ranks 2\nrank 0 {\ncalc 1\n}\nrank 0 {\n}\n"), (Lines{"5: rank 0 has a block already"}));
  EXPECT_EQ(refusals("num_ranks 2\nrank 0 {\ncalc 1\n"), (Lines{"2: the block of rank 0 has no end"}));
  EXPECT_EQ(refusals("num_ranks 1\n/* rank 0 {\n"), (Lines{"2: the comment has no end"}));
  const auto statement = [](const std::string& line) {
    return refusals("num_ranks 2\nrank 0 {\n" + line + "\ncalc 1\n}\n");
  };
  EXPECT_EQ(statement("send 10 to 1"), (Lines{"3: expected \"b\" behind a size, found \"to\""}));
  EXPECT_EQ(statement("send -10b to 1"), (Lines{"3: expected a size, found \"-10b\""}));
  EXPECT_EQ(statement("send 10b from 1"), (Lines{"3: expected \"to\", found \"from\""}));
  EXPECT_EQ(statement("send 10b to -1"), (Lines{"3: expected the number of a rank, found \"-1\""}));
  EXPECT_EQ(statement("send 10b to 7"), (Lines{"3: there is no rank 7"}));
  EXPECT_EQ(statement("send 10b to 1 tag -1"), (Lines{"3: expected a tag, found \"-1\""}));
  EXPECT_EQ(statement("send 2000000000000b to 1"), (Lines{"3: a size of \"2000000000000\" is too large"}));
  EXPECT_EQ(statement("recv 1b from 1 now"), (Lines{"3: expected the end of the line, found \"now\""}));
  EXPECT_EQ(statement("calc"), (Lines{"3: expected a time in nanoseconds, found the end of the line"}));
  EXPECT_EQ(statement("calc 1000000000001"), (Lines{"3: a time in nanoseconds of \"1000000000001\" is too large"}));
  EXPECT_EQ(statement("a: jump 1"), (Lines{"3: expected \"send\", \"recv\" or \"calc\" behind \"a\", found \"jump\""}));
  EXPECT_EQ(statement("a needs b"),
            (Lines{"3: expected \":\", \"requires\" or \"irequires\" behind \"a\", found \"needs\""}));
  EXPECT_EQ(statement("a: calc 1\na: calc 2"), (Lines{"4: the label \"a\" is used twice in the block"}));
  EXPECT_EQ(statement("a: calc 1\na requires b"), (Lines{"4: no operation of rank 0 has the label \"b\""}));
  EXPECT_EQ(statement("\x01\x02"), (Lines{"3: expected an operation or a label, found \"?\""}));
}

TEST(GoalTest, labels_of_refused_operations_are_known) {
  EXPECT_EQ(refusals("num_ranks 1\nrank 0 {\na: calc\nb: calc 1\nb requires a\n}\n"),
            (Lines{"3: expected a time in nanoseconds, found the end of the line"}));
}

TEST(GoalTest, circles_are_refused) {
  EXPECT_EQ(refusals("num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb irequires a\n}\n"),
            (Lines{"3: the operation waits for itself: its \"requires\" and those of others form a circle"}));
  EXPECT_EQ(refusals("num_ranks 1\nrank 0 {\na: calc 1\na requires a\n}\n").size(), 1u);
}

TEST(GoalTest, computations_are_no_longer_than_time) {
  std::string text = "num_ranks 1\nrank 0 {\n";
  for (int i = 0; i < 8001; ++i) text += "calc 1000000000000\n";
  EXPECT_EQ(refusals(text + "}\n"),
            (Lines{"8003: the computations up to this one take more than 8000000000000000 ns in all"}));
}

TEST(GoalTest, reading_stops_after_many_findings) {
  std::string text = "num_ranks 1\nrank 0 {\n";
  for (int i = 0; i < 1000; ++i) text += "jump\n";
  EXPECT_EQ(refusals(text).size(), GoalLimits::kFindings);
}

}  // namespace
}  // namespace verbatim::workload
