// RC RDMA READ: placement, the limit of outstanding READs, order, fences, rights, timing.
#include <gtest/gtest.h>

#include "tests/hca/requests.h"

namespace verbatim::test {
namespace {

using ib::AsyncEventType;
using ib::Operation;
using ib::QpState;
using ib::WcStatus;

// Packets of one operation that arrived at an adapter, noted in passing.
struct Seen {
  std::vector<ib::Packet> packets;
  std::vector<std::int64_t> times;
  std::size_t count(Operation operation) const {
    std::size_t n = 0;
    for (const ib::Packet& packet : packets) n += operation_of(packet.bth.opcode) == operation ? 1 : 0;
    return n;
  }
};
void watch(World& world, Filter& filter, Seen& seen) {
  filter.keep = [&](ib::Packet& packet) {
    seen.packets.push_back(packet);
    seen.times.push_back(world.now_ps());
    return true;
  };
}

TEST(ReadTest, sizes_around_the_mtu_are_fetched) {
  for (const std::uint32_t length : {0u, 1u, 255u, 256u, 257u, 512u, 5000u}) {
    Pair pair(small_mtu());
    if (length > 0) pair.b.fill(333, length, 6);
    pair.a.program.post_send(pair.a.qp, read_from(pair, 333, length, 77));
    pair.world.run();
    const auto done = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(done.size(), 1u) << length;
    EXPECT_EQ(done[0].status, 0u);
    EXPECT_EQ(done[0].opcode, static_cast<std::uint8_t>(ib::WcOpcode::kRdmaRead));
    EXPECT_EQ(done[0].byte_length, length);
    if (length > 0) {
      EXPECT_TRUE(pair.a.equals(77, length, 6)) << length;
    }
    EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 0u);
    EXPECT_EQ(pair.b.program.drain(pair.b.send_cq).size(), 0u);
  }
}

TEST(ReadTest, the_response_is_cut_at_the_mtu_and_takes_the_psns_of_its_packets) {
  Pair pair(small_mtu());
  Seen requests, responses;
  watch(pair.world, pair.world.to_server, requests);
  watch(pair.world, pair.world.to_client, responses);
  pair.a.program.post_send(pair.a.qp, read_from(pair, 0, 600));
  pair.a.program.post_send(pair.a.qp, read_from(pair, 0, 0));
  pair.a.program.post_send(pair.a.qp, read_from(pair, 0, 8));
  pair.world.run();
  ASSERT_EQ(requests.packets.size(), 3u);
  EXPECT_EQ(requests.packets[0].bth.psn, ib::Psn{1000});
  EXPECT_EQ(requests.packets[0].reth.length, 600u);
  EXPECT_EQ(requests.packets[1].bth.psn, ib::Psn{1003});
  EXPECT_EQ(requests.packets[2].bth.psn, ib::Psn{1004});
  ASSERT_EQ(responses.packets.size(), 5u);
  const Operation operations[] = {Operation::kReadResponseFirst, Operation::kReadResponseMiddle,
                                  Operation::kReadResponseLast, Operation::kReadResponseOnly,
                                  Operation::kReadResponseOnly};
  const std::uint32_t lengths[] = {256, 256, 88, 0, 8};
  for (std::uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(operation_of(responses.packets[i].bth.opcode), operations[i]);
    EXPECT_EQ(responses.packets[i].bth.psn, ib::Psn{1000 + i});
    EXPECT_EQ(responses.packets[i].payload.length, lengths[i]);
  }
  EXPECT_EQ(responses.packets[2].aeth.msn, 1u);
  EXPECT_EQ(responses.packets[4].aeth.msn, 3u);
}

TEST(ReadTest, a_scatter_list_is_filled_in_order) {
  Pair pair(small_mtu());
  pair.b.fill(0, 1000, 9);
  auto request = read_from(pair, 0, 0);
  request.sges = {pair.a.sge(5000, 300), pair.a.sge(9000, 0), pair.a.sge(100, 1), pair.a.sge(2000, 699)};
  pair.a.program.post_send(pair.a.qp, request);
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).byte_length, 1000u);
  const auto source = pair.b.program.memory.at(Program::kBuffer, 1000);
  const auto at = [&](std::uint64_t offset, std::size_t size) {
    return pair.a.program.memory.at(Program::kBuffer + offset, size);
  };
  EXPECT_TRUE(std::ranges::equal(at(5000, 300), source.subspan(0, 300)));
  EXPECT_TRUE(std::ranges::equal(at(100, 1), source.subspan(300, 1)));
  EXPECT_TRUE(std::ranges::equal(at(2000, 699), source.subspan(301, 699)));
}

TEST(ReadTest, no_completion_before_the_last_byte_is_in_memory) {
  Pair pair(small_mtu());
  pair.b.fill(0, 2000, 9);
  pair.a.program.post_send(pair.a.qp, read_from(pair, 0, 2000));
  while (pair.world.engine.step()) {
    if (!pair.a.program.poll(pair.a.send_cq)) continue;
    EXPECT_TRUE(pair.a.equals(0, 2000, 9));
    return;
  }
  FAIL() << "no completion";
}

TEST(ReadTest, at_most_max_rd_atomic_requests_are_outstanding) {
  for (const std::uint8_t limit : {1, 2, 5}) {
    PairOptions options = small_mtu();
    options.path.max_rd_atomic = limit;
    options.world.profile.wqe_prefetch = 16;
    Pair pair(options);
    std::uint32_t outstanding = 0, most = 0;
    pair.world.to_server.keep = [&](ib::Packet& packet) {
      if (operation_of(packet.bth.opcode) == Operation::kReadRequest) most = std::max(most, ++outstanding);
      return true;
    };
    pair.world.to_client.keep = [&](ib::Packet& packet) {
      if (ib::info(packet.bth.opcode).ends_message) --outstanding;
      return true;
    };
    for (int i = 0; i < 12; ++i) pair.a.program.post_send(pair.a.qp, read_from(pair, 0, 5000));
    pair.world.run();
    EXPECT_EQ(most, limit);
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 12u);
  }
}

// The limit holds back READs only; a request behind a READ on the wire does not wait, one behind a READ that
// waits does: requests keep their order.
TEST(ReadTest, later_requests_pass_an_outstanding_read_but_not_a_waiting_one) {
  PairOptions options = small_mtu();
  options.path.max_rd_atomic = 1;
  Pair pair(options);
  Seen requests, responses;
  watch(pair.world, pair.world.to_server, requests);
  watch(pair.world, pair.world.to_client, responses);
  const auto write = [&] {
    auto request = read_from(pair, 8000, 8);
    request.opcode = WqeOpcode::kRdmaWrite;
    return request;
  };
  pair.a.program.write_send(pair.a.qp, read_from(pair, 0, 5000));
  pair.a.program.write_send(pair.a.qp, write());
  pair.a.program.write_send(pair.a.qp, read_from(pair, 0, 300));
  pair.a.program.write_send(pair.a.qp, write());
  pair.a.program.ring(pair.a.qp);
  pair.world.run();
  ASSERT_EQ(requests.packets.size(), 4u);
  EXPECT_EQ(requests.count(Operation::kReadRequest), 2u);
  EXPECT_EQ(operation_of(requests.packets[1].bth.opcode), Operation::kWriteOnly);
  EXPECT_EQ(operation_of(requests.packets[3].bth.opcode), Operation::kWriteOnly);
  EXPECT_LT(requests.times[1], responses.times[0]);
  // The first READ has 20 response packets, the last is number 19; only then may the second READ be sent.
  EXPECT_GT(requests.times[2], responses.times[19]);
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 4u);
}

TEST(ReadTest, a_fenced_request_waits_for_the_reads_before_it) {
  for (const bool fenced : {false, true}) {
    Pair pair(small_mtu());
    Seen requests, responses;
    watch(pair.world, pair.world.to_server, requests);
    watch(pair.world, pair.world.to_client, responses);
    auto write = read_from(pair, 8000, 8);
    write.opcode = WqeOpcode::kRdmaWrite;
    if (fenced) write.flags |= protocol::kWqeFence;
    pair.a.program.write_send(pair.a.qp, read_from(pair, 0, 1000));
    pair.a.program.write_send(pair.a.qp, read_from(pair, 0, 1000));
    pair.a.program.write_send(pair.a.qp, write);
    pair.a.program.ring(pair.a.qp);
    pair.world.run();
    ASSERT_EQ(requests.packets.size(), 3u);
    ASSERT_EQ(responses.packets.size(), 9u);  // four each, and an acknowledgement
    EXPECT_EQ(requests.times[2] > responses.times[7], fenced);
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 3u);
  }
}

TEST(ReadTest, answers_leave_in_the_order_of_the_requests) {
  Pair pair(small_mtu());
  for (int i = 0; i < 4; ++i) pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(90000, 8)});
  Seen responses;
  watch(pair.world, pair.world.to_client, responses);
  pair.a.program.write_send(pair.a.qp, read_from(pair, 0, 100000));
  pair.a.program.write_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  pair.a.program.write_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  pair.a.program.write_send(pair.a.qp, read_from(pair, 0, 4000));
  pair.a.program.write_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  pair.a.program.ring(pair.a.qp);
  pair.world.run();
  for (std::size_t i = 1; i < responses.packets.size(); ++i) {
    EXPECT_TRUE(is_before(responses.packets[i - 1].bth.psn, responses.packets[i].bth.psn)) << i;
  }
  // The two SENDs between the READs wait for the first one's response and are answered by one
  // acknowledgement.
  EXPECT_EQ(responses.count(Operation::kAcknowledge), 2u);
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 5u);
  EXPECT_EQ(pair.world.trace.count(TraceEvent::kRetransmission), 0u);
  EXPECT_EQ(pair.world.trace.count(TraceEvent::kAckSent), 2u);
}

// IBA 9.5: a READ sees what WRITEs of the same queue pair before it have written.
TEST(ReadTest, a_read_after_a_write_sees_it) {
  Pair pair(small_mtu());
  pair.a.fill(0, 3000, 5);
  auto write = read_from(pair, 100, 3000);
  write.opcode = WqeOpcode::kRdmaWrite;
  pair.a.program.write_send(pair.a.qp, write);
  pair.a.program.write_send(pair.a.qp, read_from(pair, 100, 3000, 10000));
  pair.a.program.ring(pair.a.qp);
  pair.world.run();
  EXPECT_TRUE(pair.a.equals(10000, 3000, 5));
}

TEST(ReadTest, both_sides_read_at_once_at_the_link_rate) {
  PairOptions options;
  Pair pair(options);
  const auto read = [](Pair::Side& side, const Pair::Side& other) {
    SendRequest request{.opcode = WqeOpcode::kRdmaRead, .sges = {side.sge(0, 1 << 18)}};
    request.remote_va = Program::kBuffer + (1 << 19);
    request.rkey = other.mr.rkey;
    side.program.write_send(side.qp, request);
  };
  for (int i = 0; i < 32; ++i) {
    read(pair.a, pair.b);
    read(pair.b, pair.a);
  }
  pair.a.program.ring(pair.a.qp);
  pair.b.program.ring(pair.b.qp);
  pair.world.run();
  for (Pair::Side* side : {&pair.a, &pair.b}) {
    const auto done = side->program.drain(side->send_cq);
    ASSERT_EQ(done.size(), 32u);
    // 80 ps a byte; 97 % of the link.
    EXPECT_LT(done[31].visible_at_ps - done[0].visible_at_ps, std::int64_t{31} * (1 << 18) * 80 * 100 / 97);
  }
}

TEST(ReadTest, wrong_keys_ranges_and_rights_are_access_errors_on_both_sides) {
  for (int kind = 0; kind < 6; ++kind) {
    PairOptions options = small_mtu();
    if (kind == 4) options.path.access = ib::kRemoteWrite;
    Pair pair(options);
    auto request = read_from(pair, 0, 600);
    if (kind == 0) request.rkey += 1;
    if (kind == 1) request.remote_va = Program::kBuffer + (1 << 20) - 599;
    if (kind == 2) request.remote_va = Program::kBuffer - 1;
    if (kind == 3) {
      request.rkey = pair.b.program.reg_mr(Program::kBuffer, 4096, ib::kLocalWrite | ib::kRemoteWrite).rkey;
    }
    if (kind == 5) {
      ASSERT_EQ(pair.b.program.destroy(protocol::CommandType::kDeregMr, pair.b.mr.handle), 0);
    }
    pair.a.program.post_send(pair.a.qp, request);
    pair.a.program.post_send(pair.a.qp, {.wr_id = 9, .flags = 0, .sges = {pair.a.sge(0, 8)}});
    pair.world.run();
    const auto done = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(done.size(), 2u) << kind;
    EXPECT_EQ(done[0].status, code(WcStatus::kRemoteAccessError)) << kind;
    EXPECT_EQ(done[1].status, code(WcStatus::kWorkRequestFlushed)) << kind;
    EXPECT_EQ(pair.a.program.state(pair.a.qp), QpState::kErr);
    EXPECT_EQ(pair.b.program.state(pair.b.qp), QpState::kErr);
    ASSERT_EQ(pair.b.program.async_events.size(), 1u);
    EXPECT_EQ(pair.b.program.async_events[0].event_type,
              static_cast<std::uint32_t>(AsyncEventType::kQpAccessError));
  }
}

TEST(ReadTest, an_empty_read_ignores_the_key) {
  Pair pair;
  auto request = read_from(pair, 0, 0);
  request.rkey = 0;
  request.remote_va = 1;
  pair.a.program.post_send(pair.a.qp, request);
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
}

TEST(ReadTest, more_requests_than_the_responder_has_resources_for_are_invalid) {
  for (const std::uint8_t resources : {0, 1}) {
    PairOptions options = small_mtu();
    options.path.max_dest_rd_atomic = resources;
    Pair pair(options);
    for (int i = 0; i < 2; ++i) pair.a.program.write_send(pair.a.qp, read_from(pair, 0, 5000));
    pair.a.program.ring(pair.a.qp);
    pair.world.run();
    const auto done = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(done.size(), 2u);
    // Earlier requests are still answered.
    EXPECT_EQ(done[resources].status, code(WcStatus::kRemoteInvalidRequestError));
    if (resources == 1) {
      EXPECT_EQ(done[0].status, 0u);
    }
    EXPECT_EQ(pair.b.program.state(pair.b.qp), QpState::kErr);
    EXPECT_EQ(pair.b.program.async_events.at(0).event_type,
              static_cast<std::uint32_t>(AsyncEventType::kQpRequestError));
  }
}

TEST(ReadTest, what_cannot_be_executed_here_never_leaves) {
  for (int kind = 0; kind < 4; ++kind) {
    PairOptions options;
    if (kind == 3) options.path.max_rd_atomic = 0;
    Pair pair(options);
    auto request = read_from(pair, 0, 100);
    WcStatus expected = WcStatus::kLocalProtectionError;
    if (kind == 0) request.sges[0].lkey = pair.a.program.reg_mr(Program::kBuffer, 4096, 0).lkey;
    if (kind == 1) request.sges[0].va = Program::kBuffer + (1 << 20) - 99;
    if (kind == 2) {
      request.flags |= protocol::kWqeInline;
      request.inline_data = {std::byte{1}};
      expected = WcStatus::kLocalQpOperationError;
    }
    if (kind == 3) expected = WcStatus::kLocalQpOperationError;
    pair.a.program.post_send(pair.a.qp, request);
    pair.world.run();
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, code(expected)) << kind;
    EXPECT_EQ(pair.world.trace.count(TraceEvent::kPacketTransmitted), 0u);
    EXPECT_EQ(pair.b.program.state(pair.b.qp), QpState::kRts);
  }
}

// Both sides look at the keys again for every packet: memory given back meanwhile is not touched.
TEST(ReadTest, memory_deregistered_in_the_middle_ends_the_read) {
  for (const bool local : {false, true}) {
    Pair pair(small_mtu());
    std::uint32_t packets = 0;
    pair.world.to_client.keep = [&](ib::Packet&) {
      if (++packets == 5) {
        Pair::Side& side = local ? pair.a : pair.b;
        EXPECT_EQ(side.program.destroy(protocol::CommandType::kDeregMr, side.mr.handle), 0);
        pair.a.fill(0, 100000, 1);
      }
      return true;
    };
    pair.a.program.post_send(pair.a.qp, read_from(pair, 0, 100000));
    pair.world.run();
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status,
              code(local ? WcStatus::kLocalProtectionError : WcStatus::kRemoteAccessError));
    EXPECT_EQ(pair.a.program.state(pair.a.qp), QpState::kErr);
    EXPECT_EQ(pair.b.program.state(pair.b.qp), local ? QpState::kRts : QpState::kErr);
    if (!local) {
      EXPECT_LT(packets, 391u);
    }
  }
}

// The request without payload, the gather at the responder, the response; a formula of profile values.
TEST(ReadTest, latency_of_eight_bytes_to_the_picosecond) {
  const hca::HcaProfile profile = test_profile();
  const auto measure = [](const hca::HcaProfile& with) {
    PairOptions options;
    options.world.profile = with;
    Pair pair(options);
    pair.world.run_for(Duration{10'000'000});
    pair.a.program.post_send(pair.a.qp, read_from(pair, 0, 8));
    pair.world.run();
    return pair.a.program.poll(pair.a.send_cq)->visible_at_ps;
  };
  const auto pcie = [&](std::uint64_t bytes) {
    return to_ps(host::pcie_byte_time(profile.pcie.generation, profile.pcie.lanes).time_for(bytes));
  };
  const auto stage = [&](std::int64_t t, const hca::Stage& of) {
    return ((t + 2'499) / 2'500 + of.latency_cycles) * 2'500;
  };
  const std::int64_t one_way = to_ps(profile.pcie.one_way_latency);
  const auto dma_read = [&](std::uint64_t bytes) {
    return pcie(24) + one_way + to_ps(profile.pcie.memory_read_latency) + pcie(bytes + 20) + one_way;
  };
  const std::int64_t cable = to_ps(test_link().propagation);
  std::int64_t t = 10'000'000 + one_way;
  t = stage(t, profile.doorbell) + dma_read(128);
  t = stage(t, profile.wqe_decode);
  t = stage(t, profile.packetize) + 80 * (8 + 12 + 16 + 6) + cable;  // LRH, BTH, RETH, CRCs
  t = stage(t, profile.receive_check) + dma_read(8);
  t = stage(t, profile.packetize) + 80 * (8 + 12 + 4 + 8 + 6) + cable;
  t = stage(t, profile.receive_check);
  // The completion follows the payload in the lane to the host when that is still busy.
  const std::int64_t completed = std::max(stage(t, profile.completion), t + pcie(8 + 24));
  t = completed + pcie(64 + 24) + one_way + to_ps(profile.pcie.memory_write_latency);
  EXPECT_EQ(measure(profile), t);
  hca::HcaProfile slower = profile;
  slower.packetize.latency_cycles += 2;  // passed twice
  EXPECT_EQ(measure(slower), t + 10'000);
}

}  // namespace
}  // namespace verbatim::test
