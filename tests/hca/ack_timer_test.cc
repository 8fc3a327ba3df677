// Firmware's conversion of the transport timer: retransmission times of an unanswered SEND.
#include <gtest/gtest.h>

#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

constexpr std::int64_t kUnit = 4'096'000;

struct Silence {
  std::vector<std::int64_t> retransmissions;  // after the first packet was sent, ps
  std::int64_t detected = 0;
};

Silence silence(const hca::AckTimerProfile& timer, unsigned timeout, unsigned retries) {
  PairOptions options;
  options.world.profile.ack_timer = timer;
  options.path.timeout = static_cast<std::uint8_t>(timeout);
  options.path.retry_cnt = static_cast<std::uint8_t>(retries);
  Pair pair(options);
  pair.world.to_server.keep = [](ib::Packet&) { return false; };
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 64)}});
  pair.world.run();
  Silence seen;
  const std::int64_t sent = pair.world.trace.all(TraceEvent::kPacketTransmitted).at(0).time_ps;
  for (const TraceRecord& record : pair.world.trace.all(TraceEvent::kRetransmission))
    seen.retransmissions.push_back(record.time_ps - sent);
  const auto entry = pair.a.program.poll(pair.a.send_cq).value();
  EXPECT_EQ(entry.status, static_cast<std::uint8_t>(ib::WcStatus::kRetryExceeded));
  seen.detected = entry.visible_at_ps - sent;
  return seen;
}

// Each retransmission takes well under a microsecond of its own.
void expect_about(std::int64_t actual, std::int64_t expected) {
  EXPECT_GE(actual, expected);
  EXPECT_LT(actual, expected + 8'000'000);
}

TEST(AckTimerTest, by_default_the_interval_is_that_of_the_specification) {
  const Silence seen = silence({}, 8, 2);
  ASSERT_EQ(seen.retransmissions.size(), 2u);
  expect_about(seen.retransmissions[0], kUnit << 8);
  expect_about(seen.detected, 3 * (kUnit << 8));
}

TEST(AckTimerTest, an_idle_first_expiry_comes_before_all_retries) {
  const Silence seen = silence({.first_expiry_is_idle = true}, 8, 2);
  ASSERT_EQ(seen.retransmissions.size(), 2u);
  expect_about(seen.retransmissions[0], 2 * (kUnit << 8));
  expect_about(seen.detected, 4 * (kUnit << 8));
}

TEST(AckTimerTest, a_least_exponent_makes_short_timeouts_long_and_takes_a_retry) {
  const hca::AckTimerProfile timer{10, Duration{1'000'000'000}, Duration{3'000'000'000}};
  const std::int64_t whole = 2 * (kUnit << 10);
  for (const unsigned timeout : {4u, 10u}) {
    const Silence seen = silence(timer, timeout, 3);
    ASSERT_EQ(seen.retransmissions.size(), 2u) << "the first retry is that of the adaptive phase";
    expect_about(seen.retransmissions[0], whole - 1'000'000'000);
    expect_about(seen.retransmissions[1], 2 * whole - 1'000'000'000);
    expect_about(seen.detected, 3 * whole - 1'000'000'000);
  }
  expect_about(silence(timer, 11, 3).detected, 3 * 2 * (kUnit << 11) - 3'000'000'000);
  expect_about(silence(timer, 4, 1).detected, whole - 1'000'000'000);
  EXPECT_TRUE(silence(timer, 4, 1).retransmissions.empty());
}

}  // namespace
}  // namespace verbatim::test
