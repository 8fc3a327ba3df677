// How far a thread may run on its own: each kind of event, and its least latency to the thread's host.
#include "sim/supervisor/scheduling/horizon.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/hca/driver.h"

namespace verbatim::supervisor {
namespace {

using test::Pair;

constexpr std::uint32_t kFirstThread = 40, kHostComponents = 30;
constexpr Duration kNetwork(500'000'000), kFromWire(5'000), kFarthest(100'000'000'000);

// Hosts 0 and 1 have the pair's adapters, host 2 has none.
class HorizonTest : public testing::Test {
 protected:
  explicit HorizonTest(Duration network = kNetwork) : network_(network) {
    pair_.world.run();
    for (std::uint32_t i = 0; i < 3; ++i) {
      hosts_[i].component = ComponentId{kHostComponents + i};
      hosts_[i].costs.system_call_ps = 100'000'000;
      hosts_[i].from_wire = kFromWire;
    }
    hosts_[0].devices = {pair_.world.client.get()};
    hosts_[1].devices = {pair_.world.server.get()};
    horizon_.emplace(engine_, hosts_, network_, kFirstThread);
    for (const std::size_t host : {0, 0, 1, 2}) horizon_->add_thread(host);
  }

  // An event at that time after now.
  void schedule(Duration in, EventClass event_class, std::uint32_t source) {
    timers_.push_back(
        std::make_unique<Timer>(engine_, ComponentId{source}, event_class, nullptr, [](void*) {}));
    timers_.back()->schedule_after(in);
  }
  // From now to the horizon of a thread of the host.
  Duration lead(std::size_t host, std::optional<Duration> own = {}, Duration limit = kFarthest * 2) {
    const Instant now = engine_.now();
    const auto own_at = own ? std::optional(now + *own) : std::nullopt;
    return horizon_->of(host, pair_.a.program.memory, own_at, now + limit).until - now;
  }
  void use(std::initializer_list<std::size_t> hosts) {
    for (const std::size_t host : hosts) horizon_->note_use_of_adapter(host);
  }

  Pair pair_;
  Engine& engine_ = pair_.world.engine;
  const hca::HcaProfile& profile_ = pair_.world.options.profile;
  const Duration cycle_ = Duration(1'000'000'000'000 / static_cast<std::int64_t>(profile_.core_clock_hz));
  const Duration mmio_ = profile_.pcie.one_way_latency;
  const Duration to_memory_ = mmio_ + profile_.pcie.memory_write_latency;  // less than that of a read
  const Duration from_adapter_ = cycle_ * 6;                               // an acknowledgement
  const Duration over_wire_ = kFromWire + cycle_ * 12;                     // the receive check
  const Duration network_;
  std::vector<HostSpec> hosts_ = std::vector<HostSpec>(3);
  std::optional<Horizon> horizon_;
  std::vector<std::unique_ptr<Timer>> timers_;
};

constexpr Duration kIn(1'000'000);
constexpr std::uint32_t kThreadOf0 = kFirstThread, kThreadOf1 = kFirstThread + 2,
                        kThreadOf2 = kFirstThread + 3;

TEST_F(HorizonTest, threads_have_consecutive_numbers) {
  EXPECT_EQ(horizon_->add_thread(1).value, kFirstThread + 4);
  EXPECT_EQ(horizon_->add_thread(0).value, kFirstThread + 5);
}

TEST_F(HorizonTest, is_the_limit_or_a_tenth_of_a_second_if_there_is_no_event) {
  EXPECT_EQ(lead(0), kFarthest);
  EXPECT_EQ(lead(0, {}, kIn), kIn);
  EXPECT_EQ(lead(0, Duration(500)), Duration(500)) << "another thread of the host";
}

TEST_F(HorizonTest, timeouts_and_the_supervisor_act_at_once_and_other_events_reach_memory_later) {
  const std::uint32_t own_adapter = pair_.world.client->component().value,
                      other_adapter = pair_.world.server->component().value;
  const std::uint32_t port = pair_.world.components.id("client/p1").value;
  const auto in = [&](EventClass event_class, std::uint32_t source) {
    schedule(kIn, event_class, source);
    const Duration found = lead(0);
    timers_.clear();
    return found - kIn;
  };
  EXPECT_EQ(in(EventClass::kTimeout, own_adapter), Duration::zero());
  EXPECT_EQ(in(EventClass::kTimeout, port), Duration::zero());
  EXPECT_EQ(in(EventClass::kSupervisor, kHostComponents), Duration::zero());
  EXPECT_EQ(in(EventClass::kStage, own_adapter), to_memory_);
  EXPECT_EQ(in(EventClass::kArrival, port), to_memory_);
  EXPECT_EQ(in(EventClass::kStage, other_adapter), over_wire_ + to_memory_);
  EXPECT_EQ(in(EventClass::kTimeout, other_adapter), over_wire_ + to_memory_);
}

TEST_F(HorizonTest, threads_of_other_hosts_act_through_the_management_network_until_both_use_adapters) {
  schedule(kIn, EventClass::kProgram, kThreadOf1);
  EXPECT_EQ(lead(0), kIn + kNetwork);
  EXPECT_EQ(lead(1), kIn) << "a thread of the host itself";
  use({0});
  const Duration way = mmio_ + from_adapter_ + over_wire_ + to_memory_;
  EXPECT_EQ(lead(0), kIn + 2 * profile_.command_latency + way) << "two commands before the first packet";
  use({1});
  EXPECT_EQ(lead(0), kIn + way);
  horizon_->note_command(ComponentId{kThreadOf1}, true);
  EXPECT_EQ(lead(0), kIn + way - mmio_) << "no doorbell";
  horizon_->note_command(ComponentId{kThreadOf1}, false);
  EXPECT_EQ(lead(0), kIn + way);
}

TEST_F(HorizonTest, threads_of_hosts_without_adapters_use_the_management_network) {
  schedule(kIn, EventClass::kProgram, kThreadOf2);
  use({0, 1});
  EXPECT_EQ(lead(0), kIn + kNetwork);
}

TEST_F(HorizonTest, programs_that_start_are_threads_of_their_host) {
  schedule(kIn, EventClass::kProgram, kHostComponents + 1);
  EXPECT_EQ(lead(1), kIn);
  EXPECT_EQ(lead(0), kIn + kNetwork);
  use({0, 1});
  EXPECT_EQ(lead(0), kIn + mmio_ + from_adapter_ + over_wire_ + to_memory_);
}

TEST_F(HorizonTest, is_the_earliest_effect_of_all_events) {
  use({0, 1});
  schedule(kIn, EventClass::kProgram, kThreadOf1);
  schedule(kIn + Duration(100), EventClass::kStage, pair_.world.client->component().value);
  EXPECT_EQ(lead(0), std::min(kIn + mmio_ + from_adapter_ + over_wire_ + to_memory_,
                              kIn + Duration(100) + to_memory_));
  schedule(kIn + Duration(7), EventClass::kTimeout, pair_.world.client->component().value);
  EXPECT_EQ(lead(0), kIn + Duration(7));
}

// Events of other hosts that may precede it are visited, too.
TEST_F(HorizonTest, is_the_same_if_the_next_own_event_is_known) {
  use({0, 1});
  const Duration way = mmio_ + from_adapter_ + over_wire_ + to_memory_;
  schedule(kIn, EventClass::kProgram, kThreadOf1);
  for (const Duration own : {way + kIn - Duration(1), way + kIn, way + kIn + Duration(1), 3 * (way + kIn)}) {
    schedule(own, EventClass::kProgram, kThreadOf0);
    EXPECT_EQ(lead(0, own), std::min(own, kIn + way)) << own.count();
    EXPECT_EQ(lead(0), std::min(own, kIn + way)) << own.count();
    timers_.pop_back();
  }
}

TEST_F(HorizonTest, an_own_doorbell_acts_after_both_ways_of_the_bus) {
  EXPECT_EQ(horizon_->own_effect(0), mmio_ + to_memory_);
  EXPECT_EQ(horizon_->furthest_lead(), kNetwork);
}

struct FastNetwork : HorizonTest {
  FastNetwork() : HorizonTest(Duration(40'000)) {}
};

TEST_F(FastNetwork, is_no_slower_than_the_fabric) {
  schedule(kIn, EventClass::kProgram, kThreadOf1);
  use({0, 1});
  EXPECT_EQ(lead(0), kIn + network_);
  EXPECT_EQ(lead(0, kIn * 9), kIn + network_);
  EXPECT_EQ(horizon_->furthest_lead(), over_wire_ + to_memory_);
}

// An RDMA write is about to reach the memory of the server's program.
TEST_F(HorizonTest, a_thread_executes_the_accesses_of_adapters_to_its_own_memory) {
  use({0, 1});
  test::SendRequest write{.opcode = protocol::WqeOpcode::kRdmaWrite, .sges = {pair_.a.sge(0, 8)}};
  write.remote_va = test::Program::kBuffer + 64;
  write.rkey = pair_.b.mr.rkey;
  pair_.a.program.post_send(pair_.a.qp, write);
  std::vector<host::TouchedBytes> bytes;
  std::optional<Instant> placed;
  const auto note = [&placed](Instant when, host::Touch touch, const auto&) {
    if (touch == host::Touch::kWrite) placed = when;
  };
  while (!placed && engine_.step()) pair_.world.server->visit_touches_before(kNever, bytes, note);
  ASSERT_TRUE(placed);
  const Instant limit = engine_.now() + kFarthest;
  const Horizon::Bounds own = horizon_->of(1, pair_.b.program.memory, {}, limit);
  ASSERT_EQ(own.touches.size(), 1u);
  EXPECT_EQ(own.touches[0].when, *placed);
  EXPECT_EQ(own.touches[0].address, test::Program::kBuffer + 64);
  EXPECT_EQ(own.touches[0].length, 8u);
  EXPECT_NE(own.touches[0].written, nullptr);
  EXPECT_GT(own.until, *placed);
  const Horizon::Bounds other = horizon_->of(1, pair_.a.program.memory, {}, limit);
  EXPECT_TRUE(other.touches.empty()) << "memory of another process";
  EXPECT_EQ(other.until, *placed);
  const Horizon::Bounds at = horizon_->of(1, pair_.b.program.memory, {}, *placed);
  EXPECT_TRUE(at.touches.empty()) << "all are before the horizon";
  EXPECT_EQ(at.until, *placed);
  EXPECT_EQ(horizon_->of(1, pair_.b.program.memory, {}, *placed + Duration(1)).touches.size(), 1u);
}

}  // namespace
}  // namespace verbatim::supervisor
