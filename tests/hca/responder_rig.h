// A responder and the answers that it owes, alone: no engine, no memory, no peer. Packets are made here; what the data path would
// do is read from needs and actions.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "sim/hca/transport/responder.h"
#include "sim/hca/transport/response_queue.h"
#include "sim/ib/aeth.h"
#include "sim/ib/wire.h"
#include "tests/hca/test_connection.h"

namespace verbatim::hca {

using ib::NakCode;
using ib::Operation;
using ib::QpState;
using ib::WcStatus;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = Action::Kind;
using Need = Responder::Need;

inline constexpr std::uint32_t kKey = 0x1234;
inline constexpr std::uint64_t kMemory = 0x10000, kMemoryBytes = 0x10000;

class TestSurroundings : public ResponderSurroundings {
 public:
  std::optional<host::ProgramAddress> check_remote(const Ref<SharedReceiveQueue>*, std::uint32_t rkey, std::uint64_t va,
                                                   std::uint32_t length, std::uint32_t access) override {
    ++checks;
    const bool inside = va >= kMemory && va + length <= kMemory + kMemoryBytes;
    if (rkey != kKey || !inside || (access & rights) != access) return std::nullopt;
    return va;
  }
  bool invalidate(std::uint32_t rkey) override { return rkey == kKey; }
  const Ref<SharedReceiveQueue>& target_ref() const override { return target; }
  void set_target(const Ref<SharedReceiveQueue>& to) override { target = to; }
  Ref<SharedReceiveQueue> find_target(std::uint32_t) const override { return {}; }
  std::uint32_t unused_receives() const override { return unused; }
  std::uint32_t placed_bytes(const ib::Packet& frame) const override { return frame.payload.length; }

  std::uint32_t rights = ib::kRemoteRights;
  std::uint32_t unused = 0;
  int checks = 0;
  Ref<SharedReceiveQueue> target;
};

struct Answer {
  std::uint32_t psn;
  std::uint8_t syndrome;
  std::uint32_t msn;
  friend bool operator==(const Answer&, const Answer&) = default;
};
struct DoneReceive {
  std::uint64_t wr_id;
  WcStatus status;
  std::uint32_t bytes;
  friend bool operator==(const DoneReceive&, const DoneReceive&) = default;
};

inline constexpr std::uint8_t kAck = ib::ack_syndrome(ib::kUnlimitedCredits);

// A request as its sender makes it.
struct Sent {
  Operation operation = Operation::kSendOnly;
  std::uint32_t n = 0;  // PSN, from the first
  std::uint32_t length = 0;
  bool asks = true;
  ib::Reth reth{};
  ib::AtomicEth atomic{};
};

class ResponderTest : public ::testing::Test {
 protected:
  explicit ResponderTest(ib::QpType type = ib::QpType::kRc)
      : address(test_address()),
        connection(profile, address, type),
        responses(connection, surroundings),
        responder(connection, responses, surroundings) {
    responder.start(kFirst);
  }
  static std::uint32_t psn(std::uint32_t n) { return (kFirst + n).value; }
  static ib::Reth reth(std::uint32_t length, std::uint64_t offset = 0, std::uint32_t key = kKey) {
    return {ib::RemoteVa{kMemory + offset}, ib::RKey{key}, length};
  }
  static ib::AtomicEth atomic(std::uint64_t offset = 0) { return {ib::RemoteVa{kMemory + offset}, ib::RKey{kKey}, 1, 0}; }

  ib::PacketPtr make(const Sent& sent) const {
    ib::PacketPtr packet = connection.make_packet(make_opcode(connection.transport(), sent.operation), kFirst + sent.n);
    packet->payload.length = sent.length;
    packet->bth.ack_request = sent.asks;
    packet->reth = sent.reth;
    packet->atomic = sent.atomic;
    packet->deth.qkey = 0x11;
    return packet;
  }

  // Like the data path: provides what the packet needs while available, and returns the final missing need.
  Need receive(const Sent& sent) { return receive(*make(sent)); }
  Need receive(ib::Packet& packet) {
    actions = Actions();
    Responder::Verdict verdict = responder.receive(packet, now, actions);
    if (verdict.need == Need::kReceive) verdict = supply(packet);
    tell(actions);
    if (verdict.need == Need::kPlacement && !lacks_translation) {
      placed.push_back(verdict.placement);
      actions = Actions();
      responder.execute(packet, verdict.placement, may_place, actions);
      tell(actions);
      return Need::kNothing;
    }
    return verdict.need;
  }
  Responder::Verdict supply(const ib::Packet& packet) {
    if (queue_has_failed) {
      responder.on_failed_queue(packet, actions);
      return {};
    }
    if (!receives.empty()) {
      RecvWork work = std::move(receives.front());
      receives.pop_front();
      return responder.on_receive(std::move(work), packet, actions);
    }
    if (!knows_of_none) return {Need::kReceive, {}};
    responder.on_no_receive(packet, actions);
    return {};
  }
  void post_receive(std::uint64_t capacity, bool malformed = false) {
    RecvWork work;
    work.wr_id = posted++;
    work.capacity = capacity;
    work.malformed = malformed;
    receives.push_back(std::move(work));
  }

  void tell(const Actions& all) {
    for (const Action& action : all) {
      kinds.push_back(action.kind);
      if (action.kind == Kind::kAcknowledge) {
        answers.push_back({action.number, static_cast<std::uint8_t>(action.values[0]), action.values[1]});
      } else if (action.kind == Kind::kDrop) {
        drops.push_back(action.reason);
      } else if (action.kind == Kind::kRaise) {
        events.push_back(action.raised);
      } else if (action.kind == Kind::kCompleteReceive) {
        const FinishedReceive& received = all.received();
        completions.push_back({received.wr_id, received.status, received.bytes});
      }
    }
  }
  bool did(Kind kind) const { return std::find(kinds.begin(), kinds.end(), kind) != kinds.end(); }

  // Everything that is owed and ready, handed to the port: operation and PSN.
  std::vector<std::pair<Operation, std::uint32_t>> send_all() {
    std::vector<std::pair<Operation, std::uint32_t>> sent;
    while (responses.has_packet()) {
      Actions more;
      const Outgoing outgoing = responses.next_packet(now, more);
      tell(more);
      sent.emplace_back(operation_of(outgoing.packet->bth.opcode), outgoing.packet->bth.psn.value);
      last_syndrome = outgoing.packet->aeth.syndrome;
      responses.on_transmit(outgoing);
    }
    return sent;
  }
  void atomic_done(std::uint32_t n, std::uint64_t original) {
    Actions more;
    responses.on_atomic_result(kFirst + n, original, {}, more);
    tell(more);
    responder.on_atomic_done();
  }

  static constexpr ib::Psn kFirst{0xfffffe};  // and over the wrap

  HcaProfile profile;
  PortAddress address;
  TestConnection connection;
  TestSurroundings surroundings;
  ResponseQueue responses;
  Responder responder;
  Instant now = instant_from_ps(1000);
  Actions actions;
  std::deque<RecvWork> receives;
  std::uint64_t posted = 0;
  bool knows_of_none = true;      // when there is no receive, the record has been read
  bool queue_has_failed = false;
  bool lacks_translation = false;
  bool may_place = true;
  std::vector<Kind> kinds;
  std::vector<Answer> answers;
  std::vector<ib::DropReason> drops;
  std::vector<ib::AsyncEventType> events;
  std::vector<DoneReceive> completions;
  std::vector<Responder::Placement> placed;
  std::uint8_t last_syndrome = 0;
};

}  // namespace verbatim::hca
