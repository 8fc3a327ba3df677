// The cache of memory protection entries: who waits for one, in which order with the others, and what the wait is
// called. One entry is looked up per memory key, so a registration more is an entry more.
#include <gtest/gtest.h>

#include "tests/hca/cache_times.h"

namespace verbatim::test {
namespace {

struct Entries {
  std::uint32_t contexts = 0, protections = 0, translations = 0;
};

hca::HcaProfile with(const Entries& entries, std::uint32_t slots = 4) {
  return profile_with_caches(entries.contexts, entries.protections, entries.translations, slots);
}

// From the post of a WRITE of these pieces to its gather; `regions` are registered before.
std::int64_t way_to_gather(const hca::HcaProfile& profile, const std::vector<int>& regions) {
  PairOptions options;
  options.world.profile = profile;
  options.world.server_profile = test_profile();
  Pair pair(options);
  std::vector<Mr> mine;
  for (int i = 0; i < 3; ++i) mine.push_back(pair.a.program.reg_mr(Program::kBuffer, 4096, ib::kLocalWrite));
  std::vector<protocol::Sge> sges;
  for (const int region : regions) sges.push_back({Program::kBuffer, 16, mine[static_cast<std::size_t>(region)].lkey});
  const std::int64_t posted = pair.world.now_ps();
  pair.a.program.post_send(
      pair.a.qp,
      {.opcode = WqeOpcode::kRdmaWrite, .sges = sges, .remote_va = Program::kBuffer, .rkey = pair.b.mr.rkey});
  pair.world.run();
  return pair.world.trace.all(TraceEvent::kPayloadGathered).front().time_ps - posted;
}

TEST(ProtectionCache, a_gather_waits_for_the_entries_of_all_its_keys_then_for_the_translations) {
  const auto miss = [](const Entries& entries, const std::vector<int>& regions) {
    return way_to_gather(with(entries, 1), regions) - way_to_gather(with({}), regions);
  };
  EXPECT_EQ(miss({0, 16, 0}, {0}), protection_miss());
  EXPECT_EQ(miss({0, 16, 0}, {0, 0, 0}), protection_miss()) << "one key";
  EXPECT_EQ(miss({0, 16, 0}, {0, 1, 2}), 3 * protection_miss()) << "three, one slot";
  EXPECT_EQ(miss({0, 16, 16}, {0}), protection_miss() + translation_miss());
  EXPECT_EQ(miss({0, 16, 16}, {0, 1}), 2 * protection_miss() + 2 * translation_miss());
}

TEST(ProtectionCache, as_many_keys_are_kept_as_there_are_entries) {
  const auto gathers = [](std::uint32_t entries) {
    PairOptions options;
    options.world.profile = with({0, entries, 0});
    options.world.server_profile = test_profile();
    Pair pair(options);
    const Mr other = pair.a.program.reg_mr(Program::kBuffer, 4096, ib::kLocalWrite);
    const protocol::Sge mine{Program::kBuffer, 64, pair.a.mr.lkey}, others{Program::kBuffer, 64, other.lkey};
    return gather_times(pair, {mine, others, mine});
  };
  const auto one = gathers(1), two = gathers(2);
  EXPECT_EQ(one[2], one[1]);
  EXPECT_EQ(two[1], one[1]);
  EXPECT_EQ(two[1] - two[2], protection_miss());
}

// From the packet of a request on the cable to what the server does first with its memory, which has this event.
std::int64_t way_to_memory(const hca::HcaProfile& server, WqeOpcode opcode, std::uint32_t bytes, TraceEvent event,
                           TimesByName* names = nullptr) {
  PairOptions options;
  options.world.server_profile = server;
  Pair pair(options);
  if (names != nullptr) pair.world.tracer.add(*names);
  pair.a.program.post_send(pair.a.qp, {.opcode = opcode,
                                       .sges = {pair.a.sge(0, bytes)},
                                       .remote_va = Program::kBuffer,
                                       .rkey = pair.b.mr.rkey});
  pair.world.run();
  const std::int64_t sent = pair.world.trace.all(TraceEvent::kPacketTransmitted).front().time_ps;
  std::int64_t first = 0;
  for (const TraceRecord& record : pair.world.trace.all(event)) {
    if (first == 0 && record.time_ps > sent) first = record.time_ps;
  }
  EXPECT_GT(first, sent);
  return first - sent;
}

struct RequestCase {
  WqeOpcode opcode = WqeOpcode::kRdmaWrite;
  std::uint32_t bytes = 8;
  TraceEvent event = TraceEvent::kDmaWrite;
  bool names_memory = true;
};
constexpr RequestCase kRequests[] = {
    {WqeOpcode::kRdmaWrite, 8, TraceEvent::kDmaWrite, true},
    {WqeOpcode::kRdmaRead, 8, TraceEvent::kPayloadGathered, true},
    {WqeOpcode::kRdmaWrite, 0, TraceEvent::kAckSent, false},
};

TEST(ProtectionCache, an_inbound_request_waits_for_the_context_then_the_entry_then_the_translation) {
  for (const RequestCase& what : kRequests) {
    SCOPED_TRACE(static_cast<int>(what.opcode));
    SCOPED_TRACE(what.bytes);
    const std::int64_t none = way_to_memory(with({}), what.opcode, what.bytes, what.event);
    const auto miss = [&](const Entries& entries, TimesByName* names = nullptr) {
      return way_to_memory(with(entries), what.opcode, what.bytes, what.event, names) - none;
    };
    const std::int64_t entry = what.names_memory ? protection_miss() : 0;
    const std::int64_t translation = what.names_memory ? translation_miss() : 0;
    TimesByName names;
    // An acknowledgement's stage begins with an edge.
    if (what.names_memory) {
      EXPECT_EQ(miss({0, 16, 0}), entry);
      EXPECT_EQ(miss({16, 16, 16}, &names), context_miss() + entry + translation);
    } else {
      EXPECT_EQ(miss({0, 16, 16}, &names), 0) << "a request for no bytes names no memory";
    }
    EXPECT_EQ(names.protection(), entry);
    EXPECT_EQ(names.translation(), translation);
  }
}

TEST(ProtectionCache, an_atomic_waits_for_the_entry_then_the_translation) {
  const auto way = [](const Entries& entries) {
    PairOptions options;
    options.world.server_profile = with(entries);
    Pair pair(options);
    TimesByName names;
    pair.world.tracer.add(names);
    pair.a.program.post_send(pair.a.qp, {.opcode = WqeOpcode::kAtomicFetchAdd,
                                         .sges = {pair.a.sge(0, 8)},
                                         .remote_va = Program::kBuffer,
                                         .rkey = pair.b.mr.rkey,
                                         .compare_add = 1});
    pair.world.run();
    EXPECT_EQ(names.protection(), entries.protections > 0 ? protection_miss() : 0);
    EXPECT_EQ(names.translation(), entries.translations > 0 ? translation_miss() : 0);
    return pair.world.trace.all(TraceEvent::kDmaWrite).front().time_ps;
  };
  const std::int64_t none = way({});
  // The atomic reads and writes memory when the entries are there.
  EXPECT_EQ(way({0, 16, 0}) - none, protection_miss());
  EXPECT_EQ(way({0, 16, 16}) - none, protection_miss() + translation_miss());
}

TEST(ProtectionCache, the_wait_of_a_gather_has_its_name) {
  PairOptions options;
  options.world.profile = with({0, 16, 16});
  options.world.server_profile = test_profile();
  Pair pair(options);
  TimesByName names;
  pair.world.tracer.add(names);
  pair.a.program.post_send(pair.a.qp, {.opcode = WqeOpcode::kRdmaWrite,
                                       .sges = {pair.a.sge(0, 64)},
                                       .remote_va = Program::kBuffer,
                                       .rkey = pair.b.mr.rkey});
  pair.world.run();
  EXPECT_EQ(names.protection(), protection_miss());
  EXPECT_EQ(names.translation(), translation_miss());
}

// While a retransmitted packet waits for an entry, its first transmission may be acknowledged.
TEST(ProtectionCache, what_is_acknowledged_meanwhile_waits_for_nothing_more) {
  for (std::uint32_t answer = 1'000; answer < 8'000; answer += 400) {  // cycles of 2.5 ns
    PairOptions options;
    options.world.profile = with({0, 1, 1}, 1);
    options.world.profile.pcie.memory_read_latency = Duration{2'000'000};
    options.world.server_profile = test_profile();
    options.world.server_profile->acknowledge = {answer, 1};
    options.path.timeout = 1;
    Pair pair(options);
    const Mr other = pair.a.program.reg_mr(Program::kBuffer, 4096, ib::kLocalWrite);
    for (const std::uint32_t lkey : {pair.a.mr.lkey, other.lkey}) {
      pair.a.program.post_send(pair.a.qp, {.opcode = WqeOpcode::kRdmaWrite,
                                           .sges = {{Program::kBuffer, 64, lkey}},
                                           .remote_va = Program::kBuffer,
                                           .rkey = pair.b.mr.rkey});
    }
    pair.world.run();
    const auto entries = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(entries.size(), 2u);
    for (const protocol::Cqe& entry : entries) EXPECT_EQ(entry.status, 0);
  }
}

TEST(ProtectionCache, a_request_that_is_not_sent_any_more_looks_up_nothing_more) {
  PairOptions options;
  options.world.profile = with({0, 16, 16});
  Pair pair(options);
  pair.a.program.post_send(pair.a.qp, {.opcode = WqeOpcode::kRdmaWrite,
                                       .sges = {pair.a.sge(0, 64)},
                                       .remote_va = Program::kBuffer,
                                       .rkey = pair.b.mr.rkey});
  while (pair.world.trace.count(TraceEvent::kWqeFetched) == 0) pair.world.run_for(Duration{10'000});
  pair.a.program.to_state(pair.a.qp, ib::QpState::kErr);
  pair.world.run();
  const auto entries = pair.a.program.drain(pair.a.send_cq);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].status, static_cast<std::uint8_t>(ib::WcStatus::kWorkRequestFlushed));
  EXPECT_EQ(pair.world.trace.count(TraceEvent::kPacketTransmitted), 0u);
}

}  // namespace
}  // namespace verbatim::test
