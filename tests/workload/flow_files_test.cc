// Flow files of other simulators: accepted and refused ones.
#include "sim/workload/flow_files.h"

#include <gtest/gtest.h>

namespace verbatim::workload {
namespace flow_files {
namespace {

std::string findings_of(const std::vector<LineFinding>& findings) {
  std::string text;
  for (const LineFinding& one : findings) text += std::to_string(one.line) + ": " + one.text + "; " + one.hint + "\n";
  return text;
}

FlowFile matrix(std::string_view text) {
  std::vector<LineFinding> findings;
  auto file = read_connection_matrix(text, findings);
  EXPECT_TRUE(file.has_value()) << findings_of(findings);
  return file ? std::move(*file) : FlowFile{};
}

std::string matrix_findings(std::string_view text) {
  std::vector<LineFinding> findings;
  EXPECT_FALSE(read_connection_matrix(text, findings).has_value());
  return findings_of(findings);
}

FlowFile list(std::string_view text) {
  std::vector<LineFinding> findings;
  auto file = read_flow_list(text, findings);
  EXPECT_TRUE(file.has_value()) << findings_of(findings);
  return file ? std::move(*file) : FlowFile{};
}

std::string list_findings(std::string_view text) {
  std::vector<LineFinding> findings;
  EXPECT_FALSE(read_flow_list(text, findings).has_value());
  return findings_of(findings);
}

TEST(ConnectionMatrix, has_flows_triggers_and_failures) {
  const FlowFile file = matrix(
      "# four nodes\nNodes 4\nConnections 4\nTriggers 3\nFailures 1\n\n"
      "0->1 id 1 start 1500.9 size 1000000 send_done_trigger 7\r\n"
      "1->2 id 2 trigger 7 size 20 recv_done_trigger 3 prio 5\n"
      "trigger id 7 oneshot\n"
      "2->3 id 3 trigger 3 size 0\n"
      "trigger id 3 barrier count 2\n"
      "3->0 start 0 size 1 send_done_trigger 9  # nobody waits for it\n"
      "trigger id 9 multishot\n"
      "failure switch_type AGG switch_id 3 link_id 1\n");
  EXPECT_EQ(file.nodes, 4u);
  EXPECT_TRUE(file.has_priorities);
  ASSERT_EQ(file.triggers.size(), 3u) << "in the order of their ids";
  EXPECT_EQ(file.triggers[0], (TriggerPlan{.kind = TriggerPlan::Kind::kCount, .count = 2}));
  EXPECT_EQ(file.triggers[1].kind, TriggerPlan::Kind::kAll);
  EXPECT_EQ(file.triggers[2].kind, TriggerPlan::Kind::kNext);
  ASSERT_EQ(file.flows.size(), 4u);
  EXPECT_EQ(file.flows[0], (FlowPlan{.from = 0, .to = 1, .bytes = 1'000'000, .start = Duration(1500), .on_sent = 1}));
  EXPECT_EQ(file.flows[1], (FlowPlan{.from = 1, .to = 2, .kind = 1, .bytes = 20, .trigger = 1, .on_received = 0}));
  EXPECT_EQ(file.flows[2], (FlowPlan{.from = 2, .to = 3, .trigger = 0}));
  EXPECT_EQ(file.flows[3], (FlowPlan{.from = 3, .to = 0, .bytes = 1, .on_sent = 2}));
  ASSERT_EQ(file.kinds.size(), 2u);
  EXPECT_FALSE(file.kinds[0].fires_on_arrival);
  EXPECT_TRUE(file.kinds[1].fires_on_arrival);
  ASSERT_EQ(file.failures.size(), 1u);
  EXPECT_EQ(file.failures[0].tier, FlowFile::Failure::Tier::kAggregation);
  EXPECT_EQ(file.failures[0].number, 3u);
  EXPECT_EQ(file.failures[0].link, 1u);
}

TEST(ConnectionMatrix, refuses_bad_lines_with_line_and_hint) {
  const std::string head = "Nodes 4\nConnections 1\n", good = "0->1 start 0 size 1\n";
  const std::string keys = "keys are start, size, id, trigger, send_done_trigger, recv_done_trigger, prio\n";
  const std::pair<std::string, std::string> kTexts[] = {
      {"", "1: the file has no flow; write one\n"},
      {"Nodes 0\nConnections 1\n" + good,
       "1: there are no nodes; write `Nodes 4`\n"
       "3: a connection comes before the line \"Nodes\"; say first how many there are: `Nodes 16`\n"},
      {"Nodes 4\nNodes 4\nConnections 1\n" + good, "2: \"Nodes\" is there twice; leave one of them out\n"},
      {"Nodes\nConnections 1\n",
       "1: \"Nodes\" needs one number; write `Nodes 4`\n"
       "2: the file says \"Connections 1\", and has 0; make them the same\n"},
      {"Nodes 4\n" + good, "2: the file has no line \"Connections\"; say how many there are: `Connections 1`\n"},
      {good,
       "1: a connection comes before the line \"Nodes\"; say first how many there are: `Nodes 16`\n"
       "1: the file has no line \"Connections\"; say how many there are: `Connections 1`\n"},
      {head + good + good, "4: the file says \"Connections 1\", and has 2; make them the same\n"},
      {head + "0->4 start 0 size 1\n", "3: \"4\" is no node; write a whole number from 0 to 3\n"},
      {head + "0->x start 0 size 1\n", "3: \"x\" is no node; write a whole number from 0 to 3\n"},
      {head + "2->2 start 0 size 1\n", "3: the connection leads from node 2 to itself; name another node\n"},
      {head + "0->1 start 0\n", "3: the connection has no size; write `size` and bytes; 0 is without end\n"},
      {head + "0->1 size 1\n", "3: the connection has neither a start nor a trigger; give one of them\n"},
      {head + "0->1 start -1 size 1\n", "3: \"-1\" is no start; write picoseconds, at most a million seconds\n"},
      {head + "0->1 start 0 size\n", "3: \"\" is no number of bytes; write a whole number from 0 to 1125899906842624\n"},
      {head + "0->1 start 0 size 1 bytes 3\n", "3: \"bytes\" is no key of a connection; " + keys},
      {head + "0->1 start 0 size 0 send_done_trigger 1\ntrigger id 1 oneshot\nTriggers 1\n",
       "3: a flow without end fires no trigger; give it a size, or leave the trigger out\n"},
      {head + "0->1 start 0 size 1 send_done_trigger 5\n", "3: there is no trigger 5; write `trigger id 5 oneshot`\n"},
      {head + "0->1 trigger 5 size 1\ntrigger id 5 oneshot\nTriggers 1\n",
       "4: nothing fires trigger 5; name it by send_done_trigger or recv_done_trigger of a connection\n"},
      {head + good + "trigger id 1\nTriggers 1\n", "4: the trigger has no kind; write `trigger id 1 oneshot`\n"},
      {head + good + "trigger oneshot\nTriggers 1\n", "4: the trigger has no id above 0; write `trigger id 1 oneshot`\n"},
      {head + good + "trigger id 1 barrier\nTriggers 1\n",
       "4: a barrier has a count above 0, and no other trigger has one; write `trigger id 1 barrier count "
       "4`\n"},
      {head + good + "trigger id 1 oneshot\ntrigger id 1 oneshot\nTriggers 2\n",
       "5: there are two triggers with id 1; choose another id\n"},
      {head + good + "failure switch_type LEAF switch_id 0 link_id 0\nFailures 1\n",
       "4: \"LEAF\" is no type of switch; write TOR, AGG or CORE\n"},
      {head + good + "failure switch_id 0 link_id 0\nFailures 1\n",
       "4: the failure does not name one link; give switch_type, switch_id and link_id\n"},
      {head + "0 -> 1 start 0 size 1\n" + good,
       "3: \"0\" begins no line of a connection matrix; lines are `0->1 start 0 size 1000`, `trigger …`, "
       "`failure …`\n"}};
  for (const auto& [text, expected] : kTexts) EXPECT_EQ(matrix_findings(text), expected) << text;
}

TEST(ConnectionMatrix, two_flows_have_not_one_id) {
  EXPECT_EQ(matrix_findings("Nodes 3\nConnections 2\n0->1 id 4 start 0 size 1\n1->2 id 4 start 0 size 1\n"),
            "4: there are two flows with id 4; choose another\n");
}

TEST(FlowList, is_exact_to_the_picosecond) {
  const FlowFile file = list("3\n0 5 3 100 1000 2.000000001\n1 0 3 100 7 2.000000001\n5 1 0 100 9 2.0000000010019999\n");
  EXPECT_EQ(file.nodes, 6u);
  ASSERT_EQ(file.flows.size(), 3u);
  EXPECT_EQ(file.flows[0], (FlowPlan{.from = 0, .to = 5, .port = 100, .bytes = 1000, .start = Duration(2'000'000'001'000)}));
  const Duration last(2'000'000'001'001);
  EXPECT_EQ(file.flows[2], (FlowPlan{.from = 5, .to = 1, .kind = 1, .port = 100, .bytes = 9, .start = last}));
  EXPECT_EQ(file.kinds, (std::vector<FlowFile::Kind>{{.priority = 3}, {.priority = 0}}));
}

TEST(FlowList, refuses_bad_lines_with_line_and_hint) {
  const std::string form = "lines have source, destination, priority, port, bytes and start in seconds\n";
  const std::pair<std::string, std::string> kTexts[] = {
      {"", "1: the first line is no number of flows; " + form},
      {"1\n0 1 3 100 1\n", "2: the line has 5 numbers, and not 6; " + form},
      {"1\n0 1 8 100 1 0\n", "2: \"8\" is no priority; write a whole number from 0 to 7\n"},
      {"1\n0 1 3 100 1 1e-3\n",
       "2: \"1e-3\" is no start; write seconds as a decimal number, at most a million\n"},
      {"1\n0 1 3 100 0 1\n", "2: the flow has no bytes; write 1 at least\n"},
      {"2\n0 1 3 100 1 1\n1 1 3 100 1 1\n", "3: the flow leads from node 1 to itself; name another node\n"},
      {"2\n0 1 3 100 1 1.5\n0 1 3 100 1 1.4\n",
       "3: the flow starts before the one above it; sort the flows by their starts\n"},
      {"2\n0 1 3 100 1 1.5\n", "2: the file says that it has 2 flows, and has 1; make them the same\n"}};
  for (const auto& [text, expected] : kTexts) EXPECT_EQ(list_findings(text), expected) << text;
}

TEST(FlowFiles, stop_after_some_findings) {
  std::string text = "100\n";
  for (int i = 0; i < 100; ++i) text += "x\n";
  std::vector<LineFinding> findings;
  EXPECT_FALSE(read_flow_list(text, findings).has_value());
  EXPECT_LE(findings.size(), FlowFile::kMostFindings + 1);
}

TEST(FlowFiles, are_known_by_their_first_line) {
  EXPECT_EQ(flow_format_of("# x\n\nNodes 3\n"), FlowFormat::kConnectionMatrix);
  EXPECT_EQ(flow_format_of("12\n0 1"), FlowFormat::kFlowList);
  EXPECT_EQ(flow_format_of("num_ranks 2\n"), std::nullopt);
  EXPECT_EQ(flow_format_of("12 13\n"), std::nullopt);
  EXPECT_EQ(flow_format_of(""), std::nullopt);
}

}  // namespace
}  // namespace flow_files
}  // namespace verbatim::workload
