// The digest's coverage of an adapter's work: two runs that differ only in one bit visible to a program have
// different digests.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/observe/digest_sink.h"
#include "tests/hca/requests.h"

namespace verbatim::test {
namespace {

// The bytes of the completions' records, of each adapter's completion queues.
struct Entries final : TraceSink {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<std::vector<std::byte>>> of;
  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override {
    if (record.event != TraceEvent::kCompletion) return;
    of[{record.component, record.values[0]}].emplace_back(bytes.begin(), bytes.end());
  }
};

// The digest of one message with immediate data; `tamper` changes what arrives at the server.
std::string digest_of(const std::function<void(ib::Packet&)>& tamper, ib::QpType type = ib::QpType::kRc) {
  PairOptions options;
  options.type = type;
  options.with_channel = true;
  Pair pair(options, false);
  observe::DigestSink digest;
  pair.world.tracer.add(digest);
  pair.connect_both();
  pair.world.to_server.keep = [&](ib::Packet& packet) {
    if (tamper) tamper(packet);
    return true;
  };
  pair.a.fill(0, 64, 1);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 128)});
  pair.b.program.arm(pair.b.recv_cq);
  SendRequest send{.wr_id = 2, .opcode = WqeOpcode::kSendWithImm, .sges = {pair.a.sge(0, 64)}, .immediate = 5};
  send.address_handle = pair.a.program.create_ah(2);
  send.remote_qpn = pair.b.qp.made.number;
  send.remote_qkey = options.path.qkey;
  pair.a.program.post_send(pair.a.qp, send);
  pair.world.run();
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 1u);
  return digest.hex();
}

TEST(DigestCoverage, the_same_again_is_the_same) { EXPECT_EQ(digest_of({}), digest_of({})); }

TEST(DigestCoverage, one_bit_of_the_immediate_data) {
  EXPECT_NE(digest_of({}), digest_of([](ib::Packet& packet) { packet.immediate ^= 1; }));
}

TEST(DigestCoverage, one_bit_of_the_source_queue_pair_and_of_the_service_level) {
  const std::string plain = digest_of({}, ib::QpType::kUd);
  EXPECT_NE(plain, digest_of([](ib::Packet& packet) { packet.deth.source.value ^= 1; }, ib::QpType::kUd));
  EXPECT_NE(plain, digest_of([](ib::Packet& packet) { packet.lrh.service_level.value ^= 1; }, ib::QpType::kUd));
}

TEST(DigestCoverage, one_bit_of_what_is_placed) {
  for (const std::size_t at : {0u, 31u, 63u}) {
    EXPECT_NE(digest_of({}), digest_of([at](ib::Packet& packet) {
                if (packet.payload.length == 0) return;
                packet.payload = {ib::PayloadBuffer::copy_of(packet.payload.bytes()), 0, packet.payload.length};
                packet.payload.buffer.fill()[at] ^= std::byte{1};
              }))
        << at;
  }
}

// The record has all 64 bytes of the entry as the program finds them: length, immediate, source, flags, opcode, vendor
// error, time stamp, sequence. One flipped bit of a record's bytes is another digest (tests/observe/digest_test.cc).
TEST(DigestCoverage, every_byte_of_a_completion_entry_as_it_lies_in_the_ring) {
  Pair pair;
  Entries entries;
  pair.world.tracer.add(entries);
  for (std::uint64_t i = 0; i < 3; ++i) {
    pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, i < 2 ? 4096 : 8)});
    pair.a.program.post_send(pair.a.qp, {.wr_id = 7 + i,
                                         .opcode = WqeOpcode::kSendWithImm,
                                         .sges = {pair.a.sge(0, 100)},
                                         .immediate = 0x1234});
  }
  pair.world.run();
  const auto expect_all = [&](const char* adapter, Pair::Side& side, const Cq& cq) {
    const auto& recorded = entries.of[{pair.world.components.id(adapter).value, cq.number}];
    ASSERT_EQ(recorded.size(), 3u);
    for (std::size_t i = 0; i < recorded.size(); ++i) {
      ASSERT_EQ(recorded[i].size(), sizeof(protocol::Cqe));
      EXPECT_EQ(std::memcmp(recorded[i].data(), side.program.at(cq.ring) + i * sizeof(protocol::Cqe), sizeof(protocol::Cqe)), 0)
          << adapter << " " << i;
    }
  };
  expect_all("client/hca", pair.a, pair.a.send_cq);
  expect_all("server/hca", pair.b, pair.b.recv_cq);
}

// All records of a run, for replaying them to another digest.
struct Recording final : TraceSink {
  struct Fact {
    TraceRecord record;
    std::vector<std::byte> bytes;
  };
  std::vector<Fact> facts;
  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override {
    facts.push_back({record, {bytes.begin(), bytes.end()}});
  }
  std::string digest() const {
    observe::DigestSink sink;
    for (const Fact& fact : facts) sink.on_record(fact.record, fact.bytes);
    return sink.hex();
  }
  Fact& last(TraceEvent event) {
    const auto found = std::find_if(facts.rbegin(), facts.rend(), [event](const Fact& f) { return f.record.event == event; });
    EXPECT_NE(found, facts.rend());
    return *found;
  }
  // Each bit of the bytes from `offset` on makes another digest, and only while it is flipped.
  void expect_each_bit_counts(Fact& fact, std::size_t offset, std::size_t length, const char* what) {
    const std::string plain = digest();
    ASSERT_LE(offset + length, fact.bytes.size()) << what;
    for (std::size_t bit = 0; bit < 8 * length; ++bit) {
      std::byte& byte = fact.bytes[offset + bit / 8];
      byte ^= std::byte{1} << bit % 8;
      EXPECT_NE(digest(), plain) << what << ", bit " << bit;
      byte ^= std::byte{1} << bit % 8;
    }
    EXPECT_EQ(digest(), plain);
  }
};

#define FIELD(name) {#name, offsetof(protocol::Cqe, name), sizeof(protocol::Cqe::name)}

// One message, and an error behind it, so that there are completions, events and placed bytes to choose from.
TEST(DigestCoverage, each_bit_of_each_field_of_a_completion_and_of_what_is_placed) {
  constexpr struct {
    const char* name;
    std::size_t offset, length;
  } kFields[] = {FIELD(wr_id),      FIELD(visible_at_ps),   FIELD(timestamp),     FIELD(qpn),        FIELD(byte_length),
                 FIELD(immediate),  FIELD(source_qp),       FIELD(wqe_counter),   FIELD(sequence),   FIELD(source_lid),
                 FIELD(pkey_index), FIELD(status),          FIELD(opcode),        FIELD(flags),      FIELD(vendor_error),
                 FIELD(service_level), FIELD(dlid_path_bits), FIELD(queue),  FIELD(is_frame),
                 FIELD(srq_number)};
  std::size_t covered = 0;
  for (const auto& field : kFields) covered += field.length;
  ASSERT_EQ(covered, sizeof(protocol::Cqe)) << "a field is missing";

  Pair pair;
  Recording recording;
  pair.world.tracer.add(recording);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 128)});
  pair.a.program.post_send(
      pair.a.qp, {.wr_id = 2, .opcode = WqeOpcode::kSendWithImm, .sges = {pair.a.sge(0, 64)}, .immediate = 5});
  pair.world.run();
  Recording::Fact& entry = recording.last(TraceEvent::kCompletion);
  ASSERT_EQ(entry.bytes.size(), sizeof(protocol::Cqe));
  for (const auto& field : kFields) recording.expect_each_bit_counts(entry, field.offset, field.length, field.name);
  Recording::Fact& placed = recording.last(TraceEvent::kDmaWrite);
  ASSERT_EQ(placed.bytes.size(), 64u);
  recording.expect_each_bit_counts(placed, 0, 64, "placed bytes");
}

#undef FIELD

TEST(DigestCoverage, kind_object_and_receiver_of_an_event) {
  Pair pair;
  Recording recording;
  pair.world.tracer.add(recording);
  pair.world.client->ring_doorbell(pair.a.program.context, protocol::DoorbellKind::kSendQueue, pair.a.qp.made.number, 1000);
  pair.world.run();
  Recording::Fact& event = recording.last(TraceEvent::kAsyncEvent);
  const std::string plain = recording.digest();
  EXPECT_EQ(event.record.values[0], static_cast<std::uint64_t>(ib::AsyncEventType::kQpFatal));
  EXPECT_EQ(event.record.values[1], pair.a.qp.made.number);
  for (const int value : {0, 1, 2}) {
    for (int bit = 0; bit < 64; ++bit) {
      event.record.values[value] ^= 1ull << bit;
      EXPECT_NE(recording.digest(), plain) << value << ", bit " << bit;
      event.record.values[value] ^= 1ull << bit;
    }
  }
}

// Runs in which only the receiver of an event differs have different digests.
TEST(DigestCoverage, who_is_told_of_events) {
  const auto digest_with = [](std::uint32_t process, bool fails) {
    World world;
    observe::DigestSink digest;
    world.tracer.add(digest);
    Program client(world, *world.client, 1 << 16, 1 << 20, 100);
    Program server(world, *world.server, 1 << 16, 1 << 20, process);
    Cq client_cq = client.create_cq(16), server_cq = server.create_cq(16, true);
    Qp from = client.create_qp(client_cq, client_cq), to = server.create_qp(server_cq, server_cq);
    PathOptions path;
    EXPECT_EQ(client.to_init(from, path) + server.to_init(to, path), 0);
    EXPECT_EQ(client.to_rtr(from, 2, to.made.number, path) + server.to_rtr(to, 1, from.made.number, path), 0);
    EXPECT_EQ(client.to_rts(from, path) + server.to_rts(to, path), 0);
    server.post_recv(to, 1, {});
    server.arm(server_cq);
    if (fails) {
      world.server->ring_doorbell(server.context, protocol::DoorbellKind::kSendQueue, to.made.number, 1000);
    } else {
      client.post_send(from, {});
    }
    world.run();
    EXPECT_EQ(server.completion_events.size(), 1u);
    EXPECT_EQ(server.async_events.size(), fails ? 1u : 0u);
    return digest.hex();
  };
  for (const bool fails : {false, true}) {
    EXPECT_EQ(digest_with(200, fails), digest_with(200, fails));
    EXPECT_NE(digest_with(200, fails), digest_with(201, fails));
  }
}

}  // namespace
}  // namespace verbatim::test
