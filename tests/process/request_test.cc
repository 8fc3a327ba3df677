// Requests in a slot, which a program can fill with anything, are decoded into one variant.
#include "sim/supervisor/tasks/request.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <memory>

#include "verbs_shim/protocol/repeated_calls.h"

namespace verbatim::supervisor::request {
namespace {

struct RequestTest : ::testing::Test {
  template <class Wanted>
  Wanted timed(protocol::Request kind) {
    slot->request = kind;
    return std::get<Wanted>(std::get<Timed>(decode(*slot)));
  }
  template <class Wanted>
  Wanted immediate(protocol::Request kind) {
    slot->request = kind;
    return std::get<Wanted>(std::get<Immediate>(decode(*slot)));
  }
  void set(std::initializer_list<std::int64_t> arguments) { std::ranges::copy(arguments, slot->arguments); }

  const std::unique_ptr<protocol::ThreadSlot> slot = std::make_unique<protocol::ThreadSlot>();
};

TEST_F(RequestTest, a_poll_has_its_queue_and_the_bits_of_its_number) {
  set({700, 1, 9, 64, 5, 0x4000});
  slot->number = protocol::kStartsPoll | 5u << protocol::kKnownCallsShift;
  slot->polls_alone = 3;
  const Poll poll = timed<Poll>(protocol::Request::kPoll);
  EXPECT_EQ(poll.seen.cost, Duration(700));
  EXPECT_EQ(poll.seen.queue.context, 1u);
  EXPECT_EQ(poll.seen.queue.number, 9u);
  EXPECT_EQ(poll.seen.entry, 64u);
  EXPECT_EQ(poll.seen.sequence, 5u);
  EXPECT_EQ(poll.seen.clock_gettime, 0x4000u);
  EXPECT_EQ(poll.seen.polls_before, 3u);
  EXPECT_TRUE(poll.seen.starts);
  EXPECT_FALSE(poll.seen.yields);
  EXPECT_EQ(poll.known_calls, 5u);
}

TEST_F(RequestTest, a_system_call_has_all_its_arguments) {
  set({1, 2, 3, 4, 5, -6});
  slot->number = 42;
  slot->request = protocol::Request::kSystemCall;
  const auto asked = std::get<Timed>(decode(*slot));
  const PendingCall* const call = arguments_of(asked);
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->number, 42u);
  EXPECT_EQ(std::to_array(call->arguments), (std::array<std::int64_t, 6>{1, 2, 3, 4, 5, -6}));
  EXPECT_EQ(arguments_of(Spend{}), nullptr);
}

TEST_F(RequestTest, a_copy_has_no_pid_that_does_not_fit) {
  for (const std::int64_t pid :
       {std::int64_t{-1}, std::int64_t{1} << 32, std::numeric_limits<std::int64_t>::min()}) {
    set({pid, 100, 7, 3, 0});
    EXPECT_EQ(timed<Forked>(protocol::Request::kForked).pid, 0u) << pid;
  }
  set({1001, 100, 7, 1, 8});
  const Forked forked = timed<Forked>(protocol::Request::kForked);
  EXPECT_EQ(forked.pid, 1001u);
  EXPECT_TRUE(forked.holds_parent);
  EXPECT_FALSE(forked.shares_memory);
  set({1001, 100, 7, 3, 8});
  EXPECT_TRUE(timed<Forked>(protocol::Request::kForked).shares_memory);
}

TEST_F(RequestTest, requests_that_take_no_time_are_of_their_own_kind) {
  set({0x1000, 0x2000, -1, 0, 5});
  const NewCode code = immediate<NewCode>(protocol::Request::kCode);
  EXPECT_EQ(code.length, 0x2000u);
  EXPECT_EQ(code.descriptor, -1);
  set({12, 4096});
  slot->number = 9;
  const MachineRefusal refusal = immediate<MachineRefusal>(protocol::Request::kMachine);
  EXPECT_EQ(refusal.call, 9u);
  EXPECT_EQ(refusal.error, 12);
  EXPECT_EQ(refusal.size, 4096);
}

TEST_F(RequestTest, each_argument_of_a_kind_has_its_place) {
  using protocol::Request;
  set({11, 12, 13, 14, 15, 1});
  EXPECT_EQ(timed<Attach>(Request::kAttach).room, 11u);
  EXPECT_EQ(timed<Spend>(Request::kSpend).cost, Duration(11));
  EXPECT_EQ(timed<Spend>(Request::kSpend).row_began, instant_from_ps(12));
  EXPECT_FALSE(timed<Spend>(Request::kSpend).reads_clock);
  slot->number = protocol::kReadsClock;
  EXPECT_TRUE(timed<Spend>(Request::kSpend).reads_clock);
  const Poke poke = timed<Poke>(Request::kPoke);
  EXPECT_EQ(poke.context, 11u);
  EXPECT_EQ(poke.fs_base, 12u);
  EXPECT_EQ(poke.jump, 13u);
  const Doorbell doorbell = timed<Doorbell>(Request::kDoorbell);
  EXPECT_EQ(doorbell.cost, Duration(11));
  EXPECT_EQ(static_cast<int>(doorbell.kind), 12);
  EXPECT_EQ(doorbell.context, 13u);
  EXPECT_EQ(doorbell.number, 14u);
  EXPECT_EQ(doorbell.value, 15u);
  const Access access = timed<Access>(Request::kAccess);
  EXPECT_EQ(access.instruction, 11u);
  EXPECT_EQ(access.context, 12u);
  EXPECT_EQ(access.fs_base, 13u);
  EXPECT_EQ(access.address, 14u);
  EXPECT_EQ(access.size, 15u);
  EXPECT_EQ(static_cast<int>(access.lateness), 1);
  const Fault fault = timed<Fault>(Request::kFault);
  EXPECT_EQ(fault.signal, 11);
  EXPECT_EQ(fault.address, 12u);
  EXPECT_EQ(fault.architecture, 13u);
  EXPECT_EQ(fault.number, 14);
  EXPECT_TRUE(fault.is_sent);
  const FailedPoll failed = immediate<FailedPoll>(Request::kFailedPoll);
  EXPECT_EQ(failed.completions, 11u);
  EXPECT_EQ(failed.count, 12);
  EXPECT_EQ(failed.failed, 13u);
  const TrappedCall trapped = immediate<TrappedCall>(Request::kReplaceCall);
  EXPECT_EQ(trapped.address, 11u);
  EXPECT_EQ(trapped.traps, 12u);
  EXPECT_EQ(immediate<ReportedCall>(Request::kReportCall).address, 11u);
  const View view = immediate<View>(Request::kView);
  EXPECT_EQ(static_cast<int>(view.step), 11);
  EXPECT_EQ(view.argument, 12);
  EXPECT_TRUE(immediate<FileEvents>(Request::kFileEvents).is_own_work);
  set({0});
  EXPECT_FALSE(immediate<FileEvents>(Request::kFileEvents).is_own_work);
}

TEST_F(RequestTest, an_unknown_kind_is_no_request) {
  for (const std::uint32_t kind : {0u, 1000u, std::numeric_limits<std::uint32_t>::max()}) {
    slot->request = static_cast<protocol::Request>(kind);
    const Any asked = decode(*slot);
    ASSERT_TRUE(std::holds_alternative<Timed>(asked)) << kind;
    EXPECT_TRUE(std::holds_alternative<std::monostate>(std::get<Timed>(asked))) << kind;
  }
}

TEST_F(RequestTest, a_stated_cost_is_limited) {
  EXPECT_EQ(modelled_cost(Duration(-1)), Duration::zero());
  EXPECT_EQ(modelled_cost(Duration(500)), Duration(500));
  EXPECT_EQ(modelled_cost(Duration::max()), Duration(std::chrono::seconds(1)));
}

}  // namespace
}  // namespace verbatim::supervisor::request
