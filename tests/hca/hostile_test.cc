// A program that writes nonsense wherever it can: the adapter survives, and other programs do not notice.
#include <gtest/gtest.h>

#include <map>

#include "sim/core/rng.h"
#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

struct Hostile {
  explicit Hostile(std::uint64_t seed) : rng(seed, "test/hostile") {}

  std::uint64_t number() {
    switch (rng.below(5)) {
      case 0:
        return rng.below(8);
      case 1:
        return rng.next();
      case 2:
        return ~rng.below(4);
      case 3:
        return rng.below(1 << 16);
      default:
        return 0x40 + rng.below(0x60);
    }
  }
  void scribble(std::span<std::byte> bytes, std::size_t count) {
    for (std::size_t i = 0; i < count && !bytes.empty(); ++i) {
      const std::size_t at = rng.below(bytes.size() < 60000 ? bytes.size() : 60000);
      if (rng.chance(1, 2)) {
        bytes[at] = static_cast<std::byte>(rng.next());
      } else {
        const std::uint32_t word = static_cast<std::uint32_t>(number());
        std::memcpy(bytes.data() + (at & ~std::size_t{3}) % (bytes.size() - 4), &word, sizeof(word));
      }
    }
  }
  // A mailbox with a plausible head and random contents.
  void command(World& world, Program& program) {
    alignas(8) std::byte mailbox[1024];
    for (std::byte& byte : mailbox)
      byte = rng.chance(1, 3) ? static_cast<std::byte>(rng.next()) : std::byte{0};
    for (int i = 0; i < 24; ++i) {
      const std::uint32_t word = static_cast<std::uint32_t>(rng.below(12));
      std::memcpy(mailbox + 16 + rng.below(60) * 4, &word, sizeof(word));
    }
    static constexpr std::uint32_t kSizes[] = {
        sizeof(protocol::QueryDevice),   sizeof(protocol::QueryPort), sizeof(protocol::AllocPd),
        sizeof(protocol::DestroyObject), sizeof(protocol::RegMr),     sizeof(protocol::CreateCq),
        sizeof(protocol::ResizeCq),      sizeof(protocol::CreateQp),  sizeof(protocol::ModifyQp),
        sizeof(protocol::QueryQp),       sizeof(protocol::CreateAh),  sizeof(protocol::QueryGid)};
    protocol::CommandHeader header{};
    do {
      header.type = static_cast<protocol::CommandType>(rng.below(40));
    } while (header.type == protocol::CommandType::kCloseDevice);
    // Destroying everything at once would leave nothing to attack.
    if (header.type == protocol::CommandType::kDestroyQp && !rng.chance(1, 8))
      header.type = protocol::CommandType::kQueryQp;
    header.size = size_of(header.type, kSizes[rng.below(std::size(kSizes))]);
    header.context = rng.chance(9, 10) ? program.context : static_cast<std::uint32_t>(number());
    if (rng.chance(1, 20)) header.size = static_cast<std::uint32_t>(number());
    std::memcpy(mailbox, &header, sizeof(header));
    world.client->execute(
        std::span(mailbox).first(rng.chance(1, 20) ? rng.below(sizeof(mailbox)) : sizeof(mailbox)));
  }
  static std::uint32_t size_of(protocol::CommandType type, std::uint32_t otherwise) {
    switch (type) {
      case protocol::CommandType::kAllocPd:
        return sizeof(protocol::AllocPd);
      case protocol::CommandType::kRegMr:
        return sizeof(protocol::RegMr);
      case protocol::CommandType::kCreateCq:
        return sizeof(protocol::CreateCq);
      case protocol::CommandType::kResizeCq:
        return sizeof(protocol::ResizeCq);
      case protocol::CommandType::kCreateQp:
        return sizeof(protocol::CreateQp);
      case protocol::CommandType::kModifyQp:
        return sizeof(protocol::ModifyQp);
      case protocol::CommandType::kQueryQp:
        return sizeof(protocol::QueryQp);
      case protocol::CommandType::kCreateSrq:
        return sizeof(protocol::CreateSrq);
      case protocol::CommandType::kModifySrq:
      case protocol::CommandType::kQuerySrq:
        return sizeof(protocol::SrqAttributes);
      case protocol::CommandType::kCreateAh:
        return sizeof(protocol::CreateAh);
      case protocol::CommandType::kDeallocPd:
      case protocol::CommandType::kDeregMr:
      case protocol::CommandType::kDestroyCq:
      case protocol::CommandType::kDestroyQp:
      case protocol::CommandType::kDestroyAh:
      case protocol::CommandType::kDestroySrq:
        return sizeof(protocol::DestroyObject);
      default:
        return otherwise;
    }
  }
  Rng rng;
};

struct Counter final : TraceSink {
  std::map<TraceEvent, std::size_t> counts;
  void on_record(const TraceRecord& record, std::span<const std::byte>) override { ++counts[record.event]; }
};

// The attacker shares the adapter with a well-behaved program that talks to the other host all the while.
TEST(HostileTest, random_bytes_in_rings_records_doorbells_and_mailboxes) {
  PairOptions options;
  options.world.record = false;
  options.path.timeout = 6;
  Pair pair(options);
  Counter counter;
  pair.world.tracer.add(counter);
  ASSERT_TRUE(pair.ready);
  Program attacker(pair.world, *pair.world.client, 1 << 16, 1 << 20, 666);
  Mr mr;
  Cq cq = attacker.create_cq(16, true);
  Hostile hostile(7);
  std::vector<Qp> qps;
  Srq srq = attacker.create_srq(8);
  std::uint32_t ah = attacker.create_ah(1);
  // Two connections of each kind, one of them with the shared receive queue where that is allowed.
  const auto make_qp = [&](std::size_t i) {
    const ib::QpType types[] = {ib::QpType::kRc, ib::QpType::kRc, ib::QpType::kRc,
                                ib::QpType::kUc, ib::QpType::kUd, ib::QpType::kUd};
    const bool shares = i / 2 == 1 || i / 2 == 5;
    return attacker.create_qp(cq, cq, {8, 8, 4, 4, 64}, types[i / 2], shares ? srq.made.handle : 0);
  };
  // Both ends of a connection start again, made anew when a random command has destroyed them.
  const auto revive = [&](std::size_t first) {
    PathOptions path;
    path.mtu = 1;
    path.timeout = 4;
    path.retry_cnt = 1;
    path.min_rnr_timer = 1;
    attacker.destroy(protocol::CommandType::kDeregMr, mr.handle);
    if (attacker.query(srq).header.status != 0) srq = attacker.create_srq(8);
    attacker.set_srq_limit(srq, static_cast<std::uint32_t>(hostile.rng.below(10)));
    attacker.destroy(protocol::CommandType::kDestroyAh, ah);
    ah = attacker.create_ah(1, hostile.rng.chance(1, 2));
    mr = attacker.reg_mr(Program::kBuffer, 1 << 16,
                         ib::kLocalWrite | ib::kRemoteWrite | ib::kRemoteRead | ib::kRemoteAtomic);
    for (const std::size_t i : {first & ~1ul, first | 1ul}) {
      if (attacker.to_state(qps[i], ib::QpState::kReset) != 0) qps[i] = make_qp(i);
      qps[i].send_producer = qps[i].recv_producer = 0;
      attacker.to_init(qps[i], path);
    }
    for (const std::size_t i : {first & ~1ul, first | 1ul}) {
      attacker.to_rtr(qps[i], 1, qps[i ^ 1].made.number, path);
      attacker.to_rts(qps[i], path);
      for (int n = 0; n < 4 && qps[i].made.recv_entries > 0; ++n) {
        attacker.post_recv(qps[i], 1, {{Program::kBuffer, 8000, mr.lkey}});
      }
    }
  };
  for (std::size_t i = 0; i < 12; ++i) qps.push_back(make_qp(i));
  for (std::size_t i = 0; i < qps.size(); i += 2) revive(i);

  std::uint64_t good = 0;
  constexpr int kRounds = 100'000;
  for (int round = 0; round < kRounds; ++round) {
    switch (hostile.rng.below(20)) {
      case 0:
        hostile.scribble(attacker.arena(), 1 + hostile.rng.below(3));
        break;
      case 1:
        hostile.command(pair.world, attacker);
        break;
      case 2:
        pair.world.client->ring_doorbell(
            hostile.rng.chance(9, 10) ? attacker.context : static_cast<std::uint32_t>(hostile.number()),
            static_cast<protocol::DoorbellKind>(hostile.rng.below(5)),
            static_cast<std::uint32_t>(hostile.number()), hostile.number());
        break;
      case 3:
      case 4:
      case 5:
      case 6:
      case 7: {  // something that looks like work, sometimes with a detail wrong
        Qp& qp = qps[hostile.rng.below(qps.size())];
        if (qp.made.number == 0) break;
        const bool wrong = hostile.rng.chance(1, 10);
        SendRequest request{.wr_id = hostile.rng.next()};
        request.address_handle =
            hostile.rng.chance(9, 10) ? ah : static_cast<std::uint32_t>(hostile.number());
        request.remote_qpn = qps[hostile.rng.below(qps.size())].made.number;
        request.remote_qkey = PathOptions{}.qkey;
        request.opcode = static_cast<WqeOpcode>(hostile.rng.below(wrong ? 12 : 8));
        request.flags = static_cast<std::uint8_t>(hostile.rng.below(16));
        request.remote_va = Program::kBuffer + hostile.rng.below(1 << 16);
        request.rkey = mr.rkey + static_cast<std::uint32_t>(wrong ? hostile.number() : 0);
        for (std::uint64_t i = hostile.rng.below(4); i > 0; --i) {
          request.sges.push_back({Program::kBuffer + hostile.rng.below(wrong ? 1 << 16 : 60000),
                                  static_cast<std::uint32_t>(hostile.rng.below(2500)), mr.lkey});
        }
        for (std::uint64_t i = hostile.rng.below(40); i > 0; --i) request.inline_data.push_back(std::byte{1});
        attacker.post_send(qp, request);
        break;
      }
      case 8:
      case 9:
      case 10:
      case 11: {
        Qp& qp = qps[hostile.rng.below(qps.size())];
        if (qp.made.number == 0) break;
        const std::uint32_t length = hostile.rng.chance(1, 20) ? 100 : 8000;
        if (qp.made.recv_entries > 0) {
          attacker.post_recv(qp, 1, {{Program::kBuffer, length, mr.lkey}});
        } else if (srq.made.handle != 0) {
          attacker.post_recv(srq, 1, {{Program::kBuffer, length, mr.lkey}});
        }
        break;
      }
      case 12:
      case 13:
        if (attacker.state(qps[0]) != ib::QpState::kRts || attacker.state(qps[1]) != ib::QpState::kRts ||
            hostile.rng.chance(1, 10)) {
          revive(2 * hostile.rng.below(qps.size() / 2));
        }
        break;
      case 14:
        attacker.drain(cq);
        break;
      default:
        pair.world.run_for(Duration{static_cast<std::int64_t>(hostile.rng.below(3'000'000))});
        break;
    }
    if (round % 1000 == 0) {
      pair.a.fill(0, 5000, static_cast<std::uint8_t>(round / 1000));
      pair.b.program.post_recv(pair.b.qp, good, {pair.b.sge(0, 5000)});
      pair.a.program.post_send(pair.a.qp, {.wr_id = good, .sges = {pair.a.sge(0, 5000)}});
      pair.world.run_for(Duration{300'000'000});
      const auto received = pair.b.program.drain(pair.b.recv_cq);
      const auto sent = pair.a.program.drain(pair.a.send_cq);
      ASSERT_EQ(received.size(), 1u) << round;
      ASSERT_EQ(sent.size(), 1u) << round;
      ASSERT_EQ(received[0].wr_id, good);
      ASSERT_EQ(received[0].status, 0u);
      ASSERT_TRUE(pair.b.equals(0, 5000, static_cast<std::uint8_t>(round / 1000)));
      ++good;
    }
    attacker.completion_events.clear();
    attacker.async_events.clear();
  }
  pair.world.client->close(attacker.context);
  pair.world.run_for(Duration{1'000'000'000});
  // The attack reached every part of the adapter.
  EXPECT_GT(counter.counts[TraceEvent::kDoorbell], 20'000u);
  EXPECT_GT(counter.counts[TraceEvent::kWqeFetched], 10'000u);
  EXPECT_GT(counter.counts[TraceEvent::kCompletion], 10'000u);
  EXPECT_GT(counter.counts[TraceEvent::kDmaWrite], 5'000u);
  EXPECT_GT(counter.counts[TraceEvent::kAckSent], 1'000u);
  EXPECT_GT(counter.counts[TraceEvent::kQpState], 2'000u);
  EXPECT_GT(counter.counts[TraceEvent::kAsyncEvent], 200u);
}

TEST(HostileTest, a_producer_beyond_the_ring_kills_the_queue_pair_only) {
  Pair pair;
  pair.world.client->ring_doorbell(pair.a.program.context, protocol::DoorbellKind::kSendQueue,
                                   pair.a.qp.made.number, 65);
  pair.world.run();
  EXPECT_EQ(pair.a.program.state(pair.a.qp), ib::QpState::kErr);
  ASSERT_EQ(pair.a.program.async_events.size(), 1u);
  EXPECT_EQ(pair.a.program.async_events[0].event_type,
            static_cast<std::uint32_t>(ib::AsyncEventType::kQpFatal));
  reinterpret_cast<protocol::QueuePairRecord*>(pair.b.program.at(pair.b.qp.made.record_offset))
      ->recv_producer.store(1u << 20);
  pair.world.run();
  EXPECT_EQ(pair.b.program.state(pair.b.qp), ib::QpState::kRts) << "nobody has looked yet";
}

TEST(HostileTest, an_old_doorbell_is_ignored) {
  Pair pair;
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 8)});
  pair.b.program.post_recv(pair.b.qp, 2, {pair.b.sge(0, 8)});
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  pair.a.program.post_send(pair.a.qp, {.sges = {pair.a.sge(0, 8)}});
  pair.world.client->ring_doorbell(pair.a.program.context, protocol::DoorbellKind::kSendQueue,
                                   pair.a.qp.made.number, 1);
  pair.world.run();
  EXPECT_EQ(pair.a.program.state(pair.a.qp), ib::QpState::kRts);
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 2u);
}

}  // namespace
}  // namespace verbatim::test
