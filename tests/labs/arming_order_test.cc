// Correct and wrong orders of arming, polling and sleeping.
#include "tools/verbatim/labs/arming_order.h"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "verbs_shim/protocol/commands.h"

namespace verbatim::cli {
namespace {

using protocol::ReportedCallKind;
using protocol::ReportedCallStep;

constexpr std::uint32_t kCq = 128;
constexpr std::int32_t kChannel = 515, kOther = 516;
constexpr std::int64_t kEventBytes = 8;

// A program that makes one call after the other.
class Program {
 public:
  Program() {
    protocol::CreateCq cq{};
    cq.header.type = protocol::CommandType::kCreateCq;
    cq.channel_fd = kChannel;
    cq.number = kCq;
    command(cq);
  }
  template <class Command>
  void command(Command made) {
    make({.kind = ReportedCallKind::kCommand, .arguments = {at(made)}});
  }
  void connect() {
    protocol::ModifyQp modify{};
    modify.header.type = protocol::CommandType::kModifyQp;
    modify.mask = IBV_QP_STATE;
    modify.attributes.qp_state = IBV_QPS_RTR;
    command(modify);
  }
  void arm() { make({.kind = ReportedCallKind::kArm, .number = kCq}); }
  void poll_cq(int found, int room = 1) {
    make({.kind = ReportedCallKind::kPoll, .number = kCq, .arguments = {room}, .result = found});
  }
  // A call of ibv_get_cq_event.
  void get_event(std::int64_t result = kEventBytes) {
    make({.kind = ReportedCallKind::kSystemCall, .number = SYS_read, .arguments = {kChannel, 0, kEventBytes}, .result = result});
  }
  void get_event_for_ever() {
    tell(ReportedCallStep::kBegins,
         {.kind = ReportedCallKind::kSystemCall, .number = SYS_read, .arguments = {kChannel, 0, kEventBytes}});
  }
  void poll_files(int timeout, int ready, std::int32_t file = kChannel) {
    const pollfd one{file, POLLIN, 0};
    make({.kind = ReportedCallKind::kSystemCall, .number = SYS_poll, .arguments = {at(one), 1, timeout}, .result = ready});
  }
  ArmingOrder& finish() {
    order_.finish();
    return order_;
  }

 private:
  void make(const protocol::ReportedCall& call) {
    tell(ReportedCallStep::kBegins, call);
    tell(ReportedCallStep::kHasEnded, call);
  }
  void tell(ReportedCallStep step, const protocol::ReportedCall& call) {
    static const std::string host = "server";
    supervisor::ProgramCall told{.host = host, .pid = 1000, .tid = 1000, .now = instant_from_ps(++now_ps_), .place = 1};
    told.call = call;
    told.call.step = step;
    told.read = [this](std::uint64_t address, std::span<std::byte> to) -> std::size_t {
      const auto found = memory_.find(address);
      if (found == memory_.end()) return 0;
      const std::size_t count = std::min(to.size(), found->second.size());
      std::memcpy(to.data(), found->second.data(), count);
      return count;
    };
    order_.on_call(told);
  }
  template <class T>
  std::int64_t at(const T& value) {
    const std::uint64_t address = 0x1000 * (memory_.size() + 1);
    memory_[address] = std::string(reinterpret_cast<const char*>(&value), sizeof value);
    return static_cast<std::int64_t>(address);
  }

  ArmingOrder order_;
  std::map<std::uint64_t, std::string> memory_;
  std::int64_t now_ps_ = 0;
};

TEST(ArmingOrder, poll_arm_sleep_is_wrong_though_no_completion_came_between) {
  Program program;
  program.connect();
  program.poll_cq(0);
  program.arm();
  program.get_event();
  ArmingOrder& order = program.finish();
  ASSERT_TRUE(order.mistake().has_value());
  EXPECT_NE(order.mistake()->find("CQ 128"), std::string::npos) << *order.mistake();
  EXPECT_EQ(order.sleeps(), 1u);
}

TEST(ArmingOrder, arm_poll_sleep_is_right) {
  Program program;
  program.connect();
  for (int i = 0; i < 3; ++i) {
    program.arm();
    program.poll_cq(1);
    program.poll_cq(0);
    program.get_event();
  }
  EXPECT_FALSE(program.finish().mistake().has_value());
  EXPECT_EQ(program.finish().sleeps(), 3u);
}

TEST(ArmingOrder, a_poll_that_has_no_room_left_does_not_show_that_the_queue_is_empty) {
  Program full, with_room;
  for (Program* program : {&full, &with_room}) {
    program->connect();
    program->arm();
    program->poll_cq(4, program == &full ? 4 : 16);
    program->get_event();
  }
  EXPECT_TRUE(full.finish().mistake().has_value());
  EXPECT_FALSE(with_room.finish().mistake().has_value());
}

TEST(ArmingOrder, a_queue_that_is_armed_before_it_can_have_completions_needs_no_poll) {
  Program early, late;
  early.arm();
  early.connect();
  late.connect();
  late.arm();
  for (Program* program : {&early, &late}) program->get_event();
  EXPECT_FALSE(early.finish().mistake().has_value());
  EXPECT_TRUE(late.finish().mistake().has_value());
}

TEST(ArmingOrder, a_sleep_that_never_ends_counts) {
  Program program;
  program.connect();
  program.poll_cq(0);
  program.arm();
  program.get_event_for_ever();
  EXPECT_TRUE(program.finish().mistake().has_value());
}

TEST(ArmingOrder, a_read_that_does_not_wait_is_no_sleep) {
  Program program;
  program.connect();
  program.arm();
  program.get_event(-EAGAIN);
  EXPECT_EQ(program.finish().sleeps(), 0u);
  EXPECT_FALSE(program.finish().mistake().has_value());
}

TEST(ArmingOrder, poll_of_the_channel_without_a_limit_is_a_sleep) {
  Program wrong, right, limited, elsewhere;
  for (Program* program : {&wrong, &right, &limited, &elsewhere}) {
    program->connect();
    program->arm();
  }
  right.poll_cq(0);
  wrong.poll_files(-1, 1);
  right.poll_files(-1, 1);
  limited.poll_files(1000, 1);
  elsewhere.poll_files(-1, 1, kOther);
  for (Program* program : {&right, &limited}) program->get_event();
  EXPECT_TRUE(wrong.finish().mistake().has_value());
  EXPECT_FALSE(right.finish().mistake().has_value());
  EXPECT_EQ(right.finish().sleeps(), 1u);
  EXPECT_FALSE(limited.finish().mistake().has_value());
  EXPECT_EQ(limited.finish().sleeps(), 0u);
  EXPECT_EQ(elsewhere.finish().sleeps(), 0u);
}

}  // namespace
}  // namespace verbatim::cli
