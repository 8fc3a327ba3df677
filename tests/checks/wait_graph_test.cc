// The cause of a hang, derived from the graph of waiting threads.
#include "sim/supervisor/wait_graph.h"

#include <gtest/gtest.h>

namespace verbatim::supervisor {
namespace {

BlockedThread thread(std::uint32_t process, WaitCause cause, std::vector<std::uint32_t> waits_for = {}, std::int64_t since = 0) {
  const std::string name = std::string(1, static_cast<char>('a' + process - 1));
  return {.process = process,
          .process_name = name,
          .who = name + ", thread " + std::to_string(process),
          .wait = "waits in read",
          .explanation = "reason of " + name,
          .cause = cause,
          .waits_for = std::move(waits_for),
          .since = instant_from_ps(since)};
}

TEST(WaitGraph, a_thread_whose_own_program_explains_its_wait_is_the_cause_for_all) {
  using enum WaitCause;
  const BlockedThread threads[] = {thread(1, kPeer, {2}), thread(2, kOwn), thread(3, kAwaited, {1})};
  EXPECT_EQ(cause_of_hang(threads, true).text, "b, thread 2: reason of b");
}

TEST(WaitGraph, a_program_that_does_not_go_on_is_the_cause_only_if_no_wait_is_wrong_by_itself) {
  using enum WaitCause;
  const BlockedThread wrong[] = {thread(1, kUnfinished, {}, 1), thread(2, kOwn, {}, 2)};
  EXPECT_EQ(cause_of_hang(wrong, true).text, "b, thread 2: reason of b");
  EXPECT_FALSE(cause_of_hang(wrong, true).follows_from_failure);
  const BlockedThread unfinished[] = {thread(1, kPeer, {}, 1), thread(2, kUnfinished, {}, 2)};
  EXPECT_EQ(cause_of_hang(unfinished, true).text, "b, thread 2: reason of b");
  EXPECT_TRUE(cause_of_hang(unfinished, true).follows_from_failure);
}

TEST(WaitGraph, of_several_the_first_to_wait_is_the_cause) {
  const BlockedThread threads[] = {thread(1, WaitCause::kOwn, {}, 9), thread(2, WaitCause::kOwn, {}, 7)};
  EXPECT_EQ(cause_of_hang(threads, true).text, "b, thread 2: reason of b");
}

TEST(WaitGraph, the_other_end_of_a_connection_is_the_cause_where_nobody_has_one_of_its_own) {
  const BlockedThread threads[] = {thread(1, WaitCause::kAwaited, {2}), thread(2, WaitCause::kPeer, {1})};
  EXPECT_EQ(cause_of_hang(threads, false).text, "b, thread 2: reason of b");
}

TEST(WaitGraph, a_circle_is_named_without_those_who_only_wait_for_it) {
  using enum WaitCause;
  const BlockedThread threads[] = {thread(1, kAwaited, {2}), thread(2, kAwaited, {3}), thread(3, kAwaited, {2})};
  EXPECT_EQ(cause_of_hang(threads, true).text, "b -> c -> b: each waits for the next one to send something, and none of them sends first");
  EXPECT_EQ(cause_of_hang(threads, false).text, "") << "a timer may end it";
}

TEST(WaitGraph, a_chain_that_ends_explains_nothing) {
  using enum WaitCause;
  const BlockedThread threads[] = {thread(1, kAwaited, {2}), thread(2, kAwaited, {9}), thread(4, kUnknown)};
  EXPECT_EQ(cause_of_hang(threads, true).text, "");
  EXPECT_EQ(cause_of_hang({}, true).text, "");
}

}  // namespace
}  // namespace verbatim::supervisor
