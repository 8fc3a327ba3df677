// Connections and datagrams on an Ethernet port: every packet is a RoCEv2 frame, LIDs are not used, and a
// path must be global and lead to a neighbour.
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

using ib::WcStatus;

PairOptions ethernet() {
  PairOptions options;
  options.world.roce = true;
  options.world.link.header_bytes = 62;
  options.path.is_global = true;
  return options;
}

TEST(RoceTest, a_message_travels_in_frames_between_the_two_addresses) {
  Pair pair(ethernet());
  std::vector<ib::Packet> seen;
  pair.world.to_server.keep = [&](ib::Packet& packet) {
    seen.push_back(packet);
    return true;
  };
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 100)});
  pair.a.program.post_send(pair.a.qp, {.wr_id = 2, .sges = {pair.a.sge(0, 100)}});
  pair.world.run();
  ASSERT_EQ(seen.size(), 1u);
  ASSERT_TRUE(seen[0].ethernet && seen[0].grh);
  EXPECT_EQ(seen[0].ethernet->source.value + seen[0].ethernet->destination.value, 3u);
  EXPECT_EQ(seen[0].lrh.destination, ib::Lid{});
  EXPECT_GE(seen[0].ethernet->udp_source_port, 0xc000);
  // Ethernet 14, IPv6 40, UDP 8, BTH 12, payload 100, ICRC 4, check sequence 4.
  EXPECT_EQ(seen[0].wire_bytes(), 182u);
  const auto sent = pair.a.program.drain(pair.a.send_cq);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].status, static_cast<std::uint8_t>(WcStatus::kSuccess));
}

// Path fields that decide the priority of packets and of their answers: lane and VLAN priority.
TEST(RoceTest, the_priority_of_a_path_chooses_the_lane_and_is_in_the_vlan_tag) {
  for (const bool by_dscp : {false, true}) {
    PairOptions options = ethernet();
    options.world.profile.virtual_lanes = 8;
    options.world.profile.trust = by_dscp ? "dscp" : "pcp";
    options.world.profile.dscp_to_priority = {{"26", 6, 26, 26}};
    options.world.vlan = 10;
    options.path.service_level = 11;  // the tag has its three low bits: 3
    options.path.traffic_class = 26 << 2;
    Pair pair(options);
    std::vector<ib::Packet> seen;
    pair.world.to_server.keep = pair.world.to_client.keep = [&](ib::Packet& packet) {
      seen.push_back(packet);
      return true;
    };
    pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 100)});
    pair.a.program.post_send(pair.a.qp, {.wr_id = 2, .sges = {pair.a.sge(0, 100)}});
    pair.world.run();
    ASSERT_EQ(seen.size(), 2u) << "and its acknowledgement";
    const int priority = by_dscp ? 6 : 3;
    for (const ib::Packet& packet : seen) {
      EXPECT_EQ(packet.lrh.lane.value, priority);
      EXPECT_EQ(packet.ethernet->vlan, priority << ib::kVlanPriorityShift | 10);
    }
    const auto received = pair.b.program.drain(pair.b.recv_cq);
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0].service_level, priority);
  }
}

TEST(RoceTest, the_interface_mtu_bounds_the_mtu_of_the_port_and_of_its_paths) {
  PairOptions options = ethernet();
  options.world.interface_mtu = 1500;
  options.path.mtu = 3;
  Pair pair(options);
  ASSERT_TRUE(pair.ready);
  protocol::QueryPort query{};
  query.port = 1;
  ASSERT_EQ(pair.a.program.command(query), 0);
  EXPECT_EQ(query.max_mtu, 5u);
  EXPECT_EQ(query.active_mtu, 3u);
  PathOptions path = options.path;
  path.mtu = 4;
  const Qp qp = pair.a.program.create_qp(pair.a.send_cq, pair.a.recv_cq);
  EXPECT_EQ(pair.a.program.to_init(qp, path), 0);
  EXPECT_EQ(pair.a.program.to_rtr(qp, 2, 1, path), EINVAL);
  path.mtu = 3;
  EXPECT_EQ(pair.a.program.to_rtr(qp, 2, 1, path), 0);
}

TEST(RoceTest, without_a_vlan_tag_no_priority_is_on_the_wire) {
  PairOptions options = ethernet();
  options.path.service_level = 3;
  Pair pair(options);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 100)});
  pair.a.program.post_send(pair.a.qp, {.wr_id = 2, .sges = {pair.a.sge(0, 100)}});
  pair.world.run();
  const auto received = pair.b.program.drain(pair.b.recv_cq);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].service_level, 0);
}

TEST(RoceTest, a_path_that_is_not_global_or_leads_nowhere_is_refused) {
  Pair pair(ethernet());
  PathOptions path;
  const auto fresh = [&] {
    const Qp qp = pair.a.program.create_qp(pair.a.send_cq, pair.a.recv_cq);
    EXPECT_EQ(pair.a.program.to_init(qp, path), 0);
    return qp;
  };
  path.is_global = false;
  EXPECT_EQ(pair.a.program.to_rtr(fresh(), 2, 1, path), EINVAL);
  path.is_global = true;
  EXPECT_EQ(pair.a.program.to_rtr(fresh(), 9, 1, path), ETIMEDOUT);
  EXPECT_EQ(pair.a.program.to_rtr(fresh(), 2, 1, path), 0);
  EXPECT_EQ(pair.a.program.create_ah(2, false), 0u);
  EXPECT_EQ(pair.a.program.create_ah(9, true), 0u);
  EXPECT_NE(pair.a.program.create_ah(2, true), 0u);
}

}  // namespace
}  // namespace verbatim::test
