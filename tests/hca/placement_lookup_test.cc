// Protection entries and translations of the memory in which packets are placed: receives, targets of READs and atomics,
// all pages of a WRITE; and what becomes of packets that wait for them.
#include <gtest/gtest.h>

#include <functional>

#include "sim/ib/wire.h"
#include "tests/hca/cache_times.h"
#include "tests/hca/many_pairs.h"

namespace verbatim::test {
namespace {

// One slot each, so that misses follow each other.
hca::HcaProfile with_one_slot(std::uint32_t protections, std::uint32_t translations) {
  return profile_with_caches(0, protections, translations, 1);
}

struct Placement {
  std::int64_t way = 0;  // from the last packet on the cable to the last byte written
  std::int64_t protection = 0, translation = 0;  // of all trails together
};

using Post = std::function<void(Pair&)>;

Placement place(const hca::HcaProfile& profile, bool at_client, ib::QpType type, const Post& post,
                std::uint32_t mtu = 5) {
  PairOptions options;
  options.path.mtu = mtu;
  options.type = type;
  options.world.profile = at_client ? profile : test_profile();
  options.world.server_profile = at_client ? test_profile() : profile;
  Pair pair(options);
  TimesByName names;
  pair.world.tracer.add(names);
  post(pair);
  pair.world.run();
  std::int64_t sent = 0;
  for (const TraceRecord& record : pair.world.trace.all(TraceEvent::kPacketTransmitted)) {
    const char* const port = at_client ? "server/p1" : "client/p1";
    if (record.component == pair.world.components.id(port).value) sent = record.time_ps;
  }
  Placement placement;
  for (const TraceRecord& record : pair.world.trace.all(TraceEvent::kDmaWrite)) {
    const char* const hca = at_client ? "client/hca" : "server/hca";
    if (record.component == pair.world.components.id(hca).value) placement.way = record.time_ps - sent;
  }
  EXPECT_GT(placement.way, 0);
  placement.protection = names.protection();
  placement.translation = names.translation();
  return placement;
}

void expect_misses(bool at_client, const Post& post, std::int64_t keys, std::int64_t pages,
                   ib::QpType type = ib::QpType::kRc, std::int64_t rounding = 0) {
  const Placement none = place(with_one_slot(0, 0), at_client, type, post);
  const Placement entries = place(with_one_slot(64, 0), at_client, type, post);
  const Placement both = place(with_one_slot(64, 64), at_client, type, post);
  EXPECT_EQ(entries.way - none.way, keys * protection_miss() + rounding);
  EXPECT_EQ(both.way - none.way, keys * protection_miss() + pages * translation_miss() + rounding);
  // Entries evicted before the packet is placed are not read again.
  EXPECT_EQ(place(with_one_slot(1, 1), at_client, type, post).way, both.way);
}

// A SEND of so many bytes into a receive of two regions, whose first piece ends `behind_page` bytes behind a page's end.
std::function<void(Pair&)> send_to_two_regions(std::uint32_t behind_page, std::uint32_t bytes) {
  return [=](Pair& pair) {
    const Mr other = pair.b.program.reg_mr(Program::kBuffer, 1 << 20, ib::kLocalWrite);
    const protocol::Sge last{Program::kBuffer + 8192, 64, other.lkey};
    pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(4096 - 16, 16 + behind_page), last});
    pair.world.run();
    pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, bytes)}});
  };
}

TEST(PlacementLookup, a_send_waits_for_the_entries_and_translations_of_its_receive) {
  expect_misses(false, send_to_two_regions(16, 40), 2, 3);
}

TEST(PlacementLookup, what_a_message_does_not_reach_is_not_looked_up) {
  expect_misses(false, send_to_two_regions(0, 16), 1, 1);
}

TEST(PlacementLookup, a_datagram_begins_behind_its_global_route_header) {
  expect_misses(
      false,
      [](Pair& pair) {
        pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(4096 - ib::kGrhBytes, 64)});
        pair.world.run();
        pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)},
                                             .address_handle = pair.a.program.create_ah(2),
                                             .remote_qpn = pair.b.qp.made.number,
                                             .remote_qkey = pair.options.path.qkey});
      },
      1, 1, ib::QpType::kUd);
}

TEST(PlacementLookup, a_global_route_header_is_placed_too) {
  // The lane to the host has a read of the receive record first, and the payload behind it without a pause when nothing is
  // missing: the end of one busy period is rounded up, of two each.
  expect_misses(
      false,
      [](Pair& pair) {
        pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(4096 - ib::kGrhBytes, 64)});
        pair.world.run();
        pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)},
                                             .address_handle = pair.a.program.create_ah(2, true),
                                             .remote_qpn = pair.b.qp.made.number,
                                             .remote_qkey = pair.options.path.qkey});
      },
      1, 2, ib::QpType::kUd, -1);
}

TEST(PlacementLookup, a_write_waits_for_the_translations_of_all_its_pages) {
  expect_misses(
      false,
      [](Pair& pair) {
        pair.a.program.post_send(pair.a.qp, {.opcode = WqeOpcode::kRdmaWrite,
                                             .sges = {pair.a.sge(0, 64)},
                                             .remote_va = Program::kBuffer + 4096 - 63,
                                             .rkey = pair.b.mr.rkey});
      },
      1, 2);
}

TEST(PlacementLookup, the_response_to_a_read_waits_for_those_of_its_targets) {
  expect_misses(
      true,
      [](Pair& pair) {
        const Mr other = pair.a.program.reg_mr(Program::kBuffer, 1 << 20, ib::kLocalWrite);
        const protocol::Sge last{Program::kBuffer + 8192, 64, other.lkey};
        pair.a.program.post_send(pair.a.qp, {.opcode = WqeOpcode::kRdmaRead,
                                             .sges = {pair.a.sge(4095, 2), last},
                                             .remote_va = Program::kBuffer,
                                             .rkey = pair.b.mr.rkey});
      },
      2, 3);
}

TEST(PlacementLookup, so_does_the_result_of_an_atomic) {
  expect_misses(
      true,
      [](Pair& pair) {
        pair.a.program.post_send(pair.a.qp, {.opcode = WqeOpcode::kAtomicFetchAdd,
                                             .sges = {pair.a.sge(0, 8)},
                                             .remote_va = Program::kBuffer,
                                             .rkey = pair.b.mr.rkey,
                                             .compare_add = 1});
      },
      1, 1);
}

TEST(PlacementLookup, the_waits_have_their_names) {
  const Post read = [](Pair& pair) {
    pair.a.program.post_send(pair.a.qp, {.opcode = WqeOpcode::kRdmaRead,
                                         .sges = {pair.a.sge(0, 8)},
                                         .remote_va = Program::kBuffer,
                                         .rkey = pair.b.mr.rkey});
  };
  const Post send = [](Pair& pair) {
    pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(4090, 64)});
    pair.world.run();
    pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  };
  const Placement brought = place(with_one_slot(64, 64), true, ib::QpType::kRc, read);
  EXPECT_EQ(brought.protection, protection_miss());
  EXPECT_EQ(brought.translation, translation_miss());
  // The receive waits, and the sender for the acknowledgement that follows; the read of the record comes
  // before.
  const Placement received = place(with_one_slot(64, 64), false, ib::QpType::kRc, send);
  EXPECT_NEAR(static_cast<double>(received.protection), static_cast<double>(2 * protection_miss()), 2 * 1'600.0);
  EXPECT_EQ(received.translation, 2 * 2 * translation_miss());
}

// The second packet finds the entry, but not its page, and waits for the first before.
TEST(PlacementLookup, each_packet_of_a_message_has_its_own_pages) {
  const Post send = [](Pair& pair) {
    pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(4096 - 256, 512)});
    pair.world.run();
    pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 512)}});
  };
  const Post read = [](Pair& pair) {
    pair.a.program.post_send(pair.a.qp, {.opcode = WqeOpcode::kRdmaRead,
                                         .sges = {pair.a.sge(4096 - 256, 512)},
                                         .remote_va = Program::kBuffer,
                                         .rkey = pair.b.mr.rkey});
  };
  constexpr std::uint32_t kMtu256 = 1;
  // The read of the translation follows the first packet's payload on the lane to the host.
  const host::PcieProfile pcie = test_profile().pcie;
  const ByteTime byte = host::pcie_byte_time(pcie.generation, pcie.lanes);
  const std::int64_t alone = to_ps(byte.time_for(pcie.read_header_bytes));
  const std::int64_t behind = to_ps(byte.time_for(256 + pcie.write_header_bytes + pcie.read_header_bytes));
  const std::int64_t wait = translation_miss() + behind - alone;
  const Placement sent = place(with_one_slot(64, 64), false, ib::QpType::kRc, send, kMtu256);
  EXPECT_EQ(sent.protection, 0);
  EXPECT_EQ(sent.translation, 2 * wait) << "of the receive and of the request that is acknowledged";
  EXPECT_EQ(place(with_one_slot(64, 64), true, ib::QpType::kRc, read, kMtu256).translation, wait);
}

// A packet waits at the server, or the client, when its queue pair goes to ERR or RESET.
TEST(PlacementLookup, what_waits_ends_with_its_queue_pair) {
  for (const bool at_client : {false, true}) {
    for (const ib::QpState state : {ib::QpState::kErr, ib::QpState::kReset}) {
      SCOPED_TRACE(at_client);
      SCOPED_TRACE(static_cast<int>(state));
      PairOptions options;
      options.world.profile = with_one_slot(1, 1);
      options.world.profile.pcie.memory_read_latency = Duration{10'000'000};
      options.world.profile.receive_buffer_bytes = 8192;  // less than two packets of 4096 bytes
      options.world.server_profile = options.world.profile;
      (at_client ? *options.world.server_profile : options.world.profile) = test_profile();
      ManyPairs pairs(options, 2);
      auto& side = at_client ? pairs.a : pairs.b;
      const Qp& qp = (at_client ? pairs.of_a : pairs.of_b)[0];
      pairs.b.program.post_recv(pairs.of_b[0], 1, {pairs.b.sge(0, 4096)});
      pairs.b.program.post_recv(pairs.of_b[1], 2, {pairs.b.sge(0, 4096)});
      pairs.world.run();
      const WqeOpcode opcode = at_client ? WqeOpcode::kRdmaRead : WqeOpcode::kSend;
      for (const std::uint32_t bytes : {4096u, 3000u}) {
        pairs.a.program.post_send(pairs.of_a[0], pairs.request(0, opcode, bytes));
      }
      const std::size_t before = pairs.world.trace.count(TraceEvent::kDmaWrite);
      const char* const port = at_client ? "client/p1" : "server/p1";
      const auto arrived = [&] {
        std::size_t count = 0;
        for (const TraceRecord& record : pairs.world.trace.all(TraceEvent::kPacketReceived)) {
          if (record.component == pairs.world.components.id(port).value) ++count;
        }
        return count;
      };
      while (arrived() == 0) pairs.world.run_for(Duration{100'000});
      pairs.world.run_for(Duration{5'000'000});
      EXPECT_EQ(side.program.to_state(qp, state), 0);
      pairs.world.run_for(Duration{60'000'000});
      EXPECT_EQ(pairs.world.trace.count(TraceEvent::kDmaWrite), before) << "nothing is placed any more";
      // Input buffer space has been given back: others go on.
      const WqeOpcode next = at_client ? WqeOpcode::kRdmaRead : WqeOpcode::kRdmaWrite;
      for (int i = 0; i < 8; ++i) pairs.a.program.post_send(pairs.of_a[1], pairs.request(1, next, 4096));
      pairs.world.run();
      std::size_t succeeded = 0;
      for (const protocol::Cqe& entry : pairs.a.program.drain(pairs.a.send_cq)) {
        if (entry.qpn == pairs.of_a[1].made.number) succeeded += entry.status == 0;
      }
      EXPECT_EQ(succeeded, 8u);
      const bool is_flushed = !at_client && state == ib::QpState::kErr;
      EXPECT_EQ(pairs.b.program.drain(pairs.b.recv_cq).size(), is_flushed ? 1u : 0u);
    }
  }
}

}  // namespace
}  // namespace verbatim::test
