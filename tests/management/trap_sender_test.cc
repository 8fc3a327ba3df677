// Traps of a node to its subnet manager: the time of the first datagram, of its repetitions, and their end.
#include "sim/management/trap_sender.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/management/node_agents.h"

namespace verbatim::management {
namespace {

using mad::Notice;

constexpr Duration kWork = std::chrono::microseconds(5);
constexpr Duration kTimeout =
    std::chrono::nanoseconds(std::int64_t{4096} << 10);  // IBA 14.2.5.6: 4.096 us * 2^n

struct Outlet final : NodeOutlet {
  explicit Outlet(Engine& engine) : engine(engine) {}
  void send_by(std::uint8_t, const ib::ManagementDatagram&) override { FAIL() << "its way is by LID"; }
  void send_to_lid(const ib::ManagementDatagram& datagram) override {
    sent.push_back(datagram);
    times.push_back(engine.now());
  }
  bool deliver(const ib::ManagementDatagram&) override { return false; }
  Engine& engine;
  std::vector<ib::ManagementDatagram> sent;
  std::vector<Instant> times;
};

class TrapSenderTest : public testing::Test {
 protected:
  TrapSenderTest() {
    node.ports.resize(2);
    mad::smp::PortInfo& info = node.ports[1].info;
    info.lid = 7;
    info.master_sm_lid = 3;
    info.master_sm_sl = 2;
    info.subnet_timeout = 10;
  }

  static Notice notice(std::uint32_t key) {
    ib::KeyViolation violation;
    violation.key = key;
    return mad::bad_pkey_notice(7, violation);
  }
  static std::uint64_t transaction_of(const ib::ManagementDatagram& datagram) {
    return mad::header_of(datagram.mad).transaction_id;
  }
  bool repress(const ib::ManagementDatagram& datagram) {
    mad::Header header = mad::header_of(datagram.mad);
    header.method = mad::kTrapRepress;
    return traps.repress(header);
  }

  Engine engine;
  Node node;
  Outlet outlet{engine};
  TrapSender traps{engine, ComponentId{0}, node, outlet};
};

TEST_F(TrapSenderTest, goes_to_the_managers_lid_with_its_service_level) {
  traps.raise(notice(0x8001), kWork);
  engine.run_until(Instant(kWork));
  ASSERT_EQ(outlet.sent.size(), 1u);
  const ib::ManagementDatagram& trap = outlet.sent[0];
  EXPECT_EQ(trap.lid, ib::Lid{3});
  EXPECT_EQ(trap.service_level, ib::ServiceLevel{2});
  EXPECT_TRUE(trap.is_subnet_management());
  const mad::Header header = mad::header_of(trap.mad);
  EXPECT_EQ(header.method, mad::kTrap);
  EXPECT_EQ(header.management_class, mad::kSubnetManagementLid);
  EXPECT_EQ(header.attribute_id, mad::smp::kNotice);
  const mad::smp::Data data = mad::smp::data_of(trap.mad);
  std::array<std::byte, Notice::kBytes> bytes{};
  std::ranges::copy(data, bytes.begin());
  EXPECT_EQ(Notice::decode(bytes), notice(0x8001));
}

// Formula: the first when the firmware has done its work, the next each one SubnetTimeOut later, none a
// picosecond earlier.
TEST_F(TrapSenderTest, is_repeated_once_a_subnet_timeout_and_in_the_end_given_up) {
  traps.raise(notice(1), kWork);
  engine.run_until(Instant(kWork + kTimeout - Duration(1)));
  EXPECT_EQ(outlet.sent.size(), 1u);
  engine.run_until(Instant(kWork + kTimeout));
  EXPECT_EQ(outlet.sent.size(), 2u);
  engine.run();
  ASSERT_EQ(outlet.sent.size(), TrapSender::kTimesSent);
  for (std::size_t i = 0; i < outlet.sent.size(); ++i) {
    EXPECT_EQ(outlet.times[i], Instant(kWork + static_cast<std::int64_t>(i) * kTimeout));
    EXPECT_EQ(transaction_of(outlet.sent[i]), transaction_of(outlet.sent[0])) << "the same trap";
  }
  EXPECT_EQ(traps.pending(), 0u);
}

TEST_F(TrapSenderTest, ends_when_the_manager_represses_it) {
  traps.raise(notice(1), kWork);
  engine.run_until(Instant(kWork));
  ib::ManagementDatagram other = outlet.sent.at(0);
  mad::Header header = mad::header_of(other.mad);
  header.transaction_id += 1;
  mad::put_header(other.mad, header);
  EXPECT_FALSE(repress(other)) << "that is another's";
  EXPECT_EQ(traps.pending(), 1u);
  EXPECT_TRUE(repress(outlet.sent[0]));
  engine.run();
  EXPECT_EQ(outlet.sent.size(), 1u);
  EXPECT_FALSE(repress(outlet.sent[0]));
}

TEST_F(TrapSenderTest, the_same_is_told_once_and_different_ones_take_turns_a_timeout_apart) {
  traps.raise(notice(1), kWork);
  traps.raise(notice(1), kWork);
  traps.raise(notice(2), kWork);
  engine.run_until(Instant(kWork + kTimeout));
  ASSERT_EQ(outlet.sent.size(), 2u);
  EXPECT_NE(transaction_of(outlet.sent[0]), transaction_of(outlet.sent[1]));
  EXPECT_TRUE(repress(outlet.sent[0]));
  EXPECT_TRUE(repress(outlet.sent[1]));
  traps.raise(notice(1), kWork);
  engine.run_until(Instant(kWork + 2 * kTimeout - Duration(1)));
  EXPECT_EQ(outlet.sent.size(), 2u) << "nor is a new one sent sooner";
  engine.run_until(Instant(kWork + 2 * kTimeout));
  EXPECT_EQ(outlet.sent.size(), 3u);
}

TEST_F(TrapSenderTest, what_waits_is_limited) {
  for (std::uint32_t key = 0; key < 100; ++key) traps.raise(notice(key), kWork);
  EXPECT_EQ(traps.pending(), TrapSender::kMostPending);
}

TEST_F(TrapSenderTest, there_is_none_without_a_manager_or_an_address_of_its_own) {
  node.ports[1].info.master_sm_lid = 0;
  traps.raise(notice(1), kWork);
  node.ports[1].info.master_sm_lid = 3;
  node.ports[1].info.lid = 0;
  traps.raise(notice(2), kWork);
  node.ports[1].info.lid = 7;
  traps.raise(notice(3), kWork);
  node.ports[1].info.master_sm_lid = 0;
  engine.run();
  EXPECT_TRUE(outlet.sent.empty());
  EXPECT_EQ(traps.pending(), 0u);
}

// Key violations of congestion control are reported to the destination in ClassPortInfo, by datagrams of that
// class.
struct Unused final : NodeHardware, PortCounters, CongestionHardware {
  void on_port_set(std::uint8_t) override {}
  void on_turn_lanes_set(std::uint8_t, std::uint8_t) override {}
  void on_arbitration_set(std::uint8_t) override {}
  void set_link(std::uint8_t, bool) override {}
  void on_forwarding_set() override {}
  void on_multicast_set() override {}
  ib::KeyViolations& key_violations(std::uint8_t) override { return violations; }
  PortCounts counts(std::uint8_t) const override { return {}; }
  void set_marking(std::uint8_t, const ib::MarkingSetting&) override {}
  void set_injection(const ib::InjectionSetting&) override {}
  ib::MarkingLog* marking_log() override { return nullptr; }
  ib::InjectionLog* injection_log() override { return nullptr; }
  ib::KeyViolations violations;
};

class CongestionTrapTest : public TrapSenderTest {
 protected:
  static constexpr std::uint64_t kKey = 5;

  void receive(std::uint8_t method, std::uint16_t attribute, const mad::congestion::Data& data,
               std::uint64_t key, std::uint64_t transaction = 1) {
    ib::ManagementDatagram datagram;
    datagram.lid = ib::Lid{11};
    mad::Header header;
    header.management_class = mad::kCongestionControl;
    header.class_version = mad::congestion::kClassVersion;
    header.method = method;
    header.attribute_id = attribute;
    header.transaction_id = transaction;
    mad::put_header(datagram.mad, header);
    mad::congestion::put_key(datagram.mad, key);
    mad::congestion::put_data(datagram.mad, data);
    agents.receive(datagram, 1, engine.now());
    engine.run_until(engine.now() + kWork);
  }

  Unused unused;
  NodeAgents agents{engine, ComponentId{0}, node, unused, unused, unused, outlet};
};

TEST_F(CongestionTrapTest, a_wrong_key_is_reported_until_it_is_repressed) {
  receive(mad::kSet, mad::congestion::kCongestionKeyInfo, mad::congestion::KeyInfo{.key = kKey}.encode(), 0);
  receive(mad::kSet, mad::congestion::kCaCongestionSetting, {}, 6);
  engine.run_until(engine.now() + kTimeout);
  ASSERT_EQ(outlet.sent.size(), 1u) << "the answer to the first; nobody has asked for traps";
  const mad::congestion::TrapTarget target{.service_level = 2, .lid = 3, .pkey = 0x8001, .qp = 1, .qkey = 0x8001'0000};
  receive(mad::kSet, mad::congestion::kClassPortInfo, target.encode(), kKey);
  outlet.sent.clear();
  receive(mad::kSet, mad::congestion::kCaCongestionSetting, {}, 6);
  engine.run_until(engine.now() + kTimeout + kWork);
  ASSERT_EQ(outlet.sent.size(), 2u) << "repeated after a timeout";
  const ib::ManagementDatagram& trap = outlet.sent[0];
  EXPECT_EQ(trap.lid, ib::Lid{3});
  EXPECT_EQ(trap.pkey, 0x8001);
  EXPECT_EQ(trap.service_level, ib::ServiceLevel{2});
  EXPECT_FALSE(trap.is_subnet_management());
  EXPECT_EQ(trap.remote_queue, ib::Qpn{1});
  const mad::Header header = mad::header_of(trap.mad);
  EXPECT_EQ(header.management_class, mad::kCongestionControl);
  EXPECT_EQ(header.method, mad::kTrap);
  EXPECT_EQ(header.attribute_id, mad::congestion::kNotice);
  std::array<std::byte, Notice::kBytes> bytes{};
  std::copy_n(trap.mad.begin() + 64, bytes.size(), bytes.begin());
  const Notice notice = Notice::decode(bytes);
  EXPECT_EQ(notice.type, Notice::Type::kSecurity);
  EXPECT_EQ(notice.trap_number, 0);
  EXPECT_EQ(notice.issuer_lid, 7);
  const auto details = mad::decode_details<mad::BadCongestionKeyDetails>(notice.details);
  EXPECT_EQ(details.source_lid, 11);
  EXPECT_EQ(details.method, mad::kSet);
  EXPECT_EQ(details.attribute_id, mad::congestion::kCaCongestionSetting);
  EXPECT_EQ(details.key, 6u);
  EXPECT_EQ(details.qp, 1u);
  receive(mad::kTrapRepress, mad::congestion::kNotice, {}, 0, header.transaction_id);
  engine.run();
  EXPECT_EQ(outlet.sent.size(), 2u);
}

}  // namespace
}  // namespace verbatim::management
