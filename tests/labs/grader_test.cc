// A grader's output: the order of calls, each cause once, complete compiler messages, and the results of
// calls.
#include <regex>

#include "tests/labs/folder.h"

namespace verbatim::labs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

// The loop of lab 5's solution in another form.
std::string lab_5_with(const std::string& loop) {
  std::string source = source_of("05-completion-events", "solution");
  const std::size_t begin = source.find("  for (int received = 0; received < wanted;) {");
  const std::size_t end = source.find("\n}\n", begin);
  EXPECT_NE(begin, std::string::npos);
  return source.replace(begin, end - begin, loop);
}

constexpr const char* kSleep =
    "    struct ibv_cq* of;\n    void* context;\n    MUST(ibv_get_cq_event(channel, &of, &context) == 0);\n    ++events;\n  }";

// Works in nearly every run: the moment between the poll and the arming is short.
TEST(Lab5, poll_if_empty_arm_and_sleep_loses_most_points_whatever_the_seeds) {
  const Folder folder("5", lab_5_with("  for (int received = 0; received < wanted;) {\n    const int taken = take();\n"
                                      "    received += taken;\n    work_on(taken);\n    if (taken != 0) continue;\n"
                                      "    MUST(ibv_req_notify_cq(cq, 0) == 0);\n" +
                                      std::string(kSleep)));
  for (const char* seeds : {"1 2", "33"}) {
    const cli::Finished graded = folder.grade(seeds);
    EXPECT_THAT(graded.out, HasSubstr("  0 of 3  arms the CQ, polls until it is empty, and only then sleeps\n"));
    EXPECT_THAT(graded.out, HasSubstr("  0 of 3  the same order, and all messages, in 60 schedules\n"));
    EXPECT_LE(points_of(graded), 4) << graded.out;
  }
}

TEST(Lab5, other_right_orders_get_all_points) {
  // Armed once before the loop, and again after each event.
  const std::string armed_before =
      "  struct ibv_wc wc[16];\n  MUST(ibv_req_notify_cq(cq, 0) == 0);\n  for (int received = 0; received < wanted;) {\n"
      "    const int taken = ibv_poll_cq(cq, 16, wc);\n    MUST(taken >= 0);\n    received += taken;\n    work_on(taken);\n"
      "    if (taken == 16 || received >= wanted) continue;\n" +
      std::string(kSleep).substr(0, std::string(kSleep).size() - 3) + "    MUST(ibv_req_notify_cq(cq, 0) == 0);\n  }";
  // Armed only where the queue was empty, and looked at once more.
  const std::string looked_twice =
      "  for (int received = 0; received < wanted;) {\n    int taken = take();\n    if (taken == 0) {\n"
      "      MUST(ibv_req_notify_cq(cq, 0) == 0);\n      taken = take();\n    }\n    received += taken;\n    work_on(taken);\n"
      "    if (taken != 0) continue;\n" +
      std::string(kSleep);
  for (const std::string& loop : {armed_before, looked_twice}) {
    const cli::Finished graded = Folder("5", lab_5_with(loop)).grade("1 2");
    EXPECT_EQ(points_of(graded), 10) << graded.out << graded.err;
  }
}

TEST(Lab5, polling_all_the_time_is_no_solution) {
  const cli::Finished graded = Folder("5", source_of("05-completion-events", "skeleton")).grade("1");
  EXPECT_THAT(graded.out, HasSubstr("the program never sleeps for a completion event"));
  EXPECT_LE(points_of(graded), 3) << graded.out;
}

// The form of lab 5 with poll(2), in the wrong order.
TEST(Lab5Cm, poll_arm_and_sleep_loses_most_points) {
  std::string source = source_of("05-completion-events-cm", "solution");
  const std::string arm = "    MUST(ibv_req_notify_cq(cq, 0) == 0);\n", sleep = "    MUST(poll(ready, 2, has_more ? 0 : -1) >= 0);\n";
  ASSERT_NE(source.find(arm), std::string::npos);
  source.erase(source.find(arm), arm.size());
  ASSERT_NE(source.find(sleep), std::string::npos);
  source.insert(source.find(sleep), arm);
  const cli::Finished graded = Folder("5-cm", source).grade("1 2");
  EXPECT_THAT(graded.out, HasSubstr("  0 of 3  arms the CQ, polls until it is empty, and only then sleeps\n"));
  EXPECT_LE(points_of(graded), 4) << graded.out;
}

// The client posts no receives for messages with credits: every run ends for the same reason.
TEST(Grader, says_a_cause_once_and_names_the_missing_receive) {
  std::string source = source_of("03-receives-and-rnr", "solution");
  const std::string again = "    for (; granted < receives; ++granted) post_receive(granted % kDepth);\n";
  ASSERT_NE(source.find(again), std::string::npos);
  source.replace(source.find(again), again.size(), "    (void)granted;\n");
  const Folder folder("3", source);
  const cli::Finished graded = folder.grade("1 2 3");
  EXPECT_THAT(graded.out, HasSubstr("no receive posted"));
  EXPECT_LE(count_of(graded.out, "no receive posted"), 2u) << graded.out;  // at most for each of the two programs
  EXPECT_THAT(graded.out, HasSubstr("of 3 runs"));
  EXPECT_THAT(graded.out, HasSubstr("for the same reason as \"all messages arrive\""));
  EXPECT_THAT(graded.out, Not(HasSubstr("/tmp/")));
  EXPECT_EQ(graded.out, folder.grade("1 2 3").out);
}

TEST(Grader, shows_what_the_compiler_says_once_and_whole) {
  std::string source = "int main(void) {\n";
  for (int i = 0; i < 40; ++i) source += "  undeclared_" + std::to_string(i) + "();\n";
  const cli::Finished graded = Folder("2", source + "  return 0 }\n").grade("1");
  EXPECT_EQ(graded.code, 1);
  EXPECT_THAT(graded.out, HasSubstr("undeclared_39"));
  EXPECT_EQ(count_of(graded.out, "undeclared_7"), count_of(graded.out, "undeclared_39"));
  EXPECT_THAT(graded.out, HasSubstr("  0 of 4  all messages arrive\n          not run: the program does not compile\n"));
  EXPECT_THAT(graded.out, Not(HasSubstr("make: ***")));
}

// Lab 13 asks for names, which the reason for lost points must not contain.
TEST(Grader, does_not_give_the_answers_of_lab_13_away) {
  const Folder folder("13", source_of("13-find-the-bug", "skeleton"));
  const cli::Finished graded = folder.grade("1");
  EXPECT_THAT(graded.out, HasSubstr("  0 of 3  both decisions are named\n"));
  const std::string all = graded.out + support::text_of_file(folder.path() + "/README.md") +
                          support::text_of_file(folder.path() + "/lab.c") + folder.junit() + folder.gradescope().dump();
  for (const char* word : {"placement", "completion-delay", "last byte", "WRITE_WITH_IMM"}) EXPECT_THAT(all, Not(HasSubstr(word)));
}

// The queue of the client has kDepth slots, and a client that never waits fills them.
TEST(Must, prints_what_the_call_returned_and_that_the_queue_is_full) {
  std::string source = source_of("03-receives-and-rnr", "skeleton");
  const std::string wait = "    while (i - sends == kDepth) wait_for_one();\n";
  ASSERT_NE(source.find(wait), std::string::npos);
  source.erase(source.find(wait), wait.size());
  const Folder folder("3", source);
  const cli::Finished run = cli::verbatim({"lab", "run", folder.path()});
  EXPECT_THAT(run.out + run.err, HasSubstr("MUST(ibv_post_send(qp, &send, &bad) == 0) failed: ibv_post_send returned 12 (Cannot allocate "
                                           "memory): the queue is full"));
  // The grader shows this line, too.
  EXPECT_THAT(folder.grade("1").out, HasSubstr("client| lab.c:"));
}

}  // namespace
}  // namespace verbatim::labs
