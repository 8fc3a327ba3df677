// Finds remote accesses to the same memory that nothing orders: one is on the wire before the other has been answered, so that no
// completion, message or synchronisation of processes stood between them, and one of them writes. It is a mistake whatever came
// of it. Told are accesses through one key: of different connections, and a WRITE behind a READ of its own connection, which a
// fence would order (IBA 10.8.3.3).
//
// Not told is what may be meant: atomics on both sides, or accesses within one aligned word of eight bytes. A READ counts as
// answered when the first bytes come back, any other from the moment when its acknowledgement leaves, and all when a later atomic
// of their connection is executed or a completion of it is written at the target, though the requester cannot know yet: what is
// found is there, and more may be.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/core/trace.h"
#include "sim/ib/packet.h"

namespace verbatim::observe {

class RemoteRaces final : public TraceSink, public PacketObserver {
 public:
  struct Adapter {
    ComponentId adapter, port, host;
    std::string name;  // for people
  };
  // `tracer` outlives it. `check` is the name under which findings are told; a literal.
  RemoteRaces(Tracer& tracer, std::string_view check, std::vector<Adapter> adapters);

  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) override;

 private:
  enum class Kind : std::uint8_t { kRead, kWrite, kAtomic };
  static constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max();
  struct Access {
    Kind kind;
    std::uint32_t key;
    std::uint64_t va, end;
    ib::Psn psn;
    std::int64_t sent_ps, answered_ps;
  };
  // Accesses of one connection to one adapter, in their order.
  struct Flow {
    std::size_t source = 0;  // index of the requester's adapter
    std::deque<Access> accesses;
    std::uint64_t va = ~std::uint64_t{0}, end = 0;  // all of them lie within
  };
  using FlowKey = std::pair<std::size_t, std::uint32_t>;  // target's index, number of its queue pair
  struct Sent {
    std::size_t source;
    std::int64_t time_ps;
  };
  using PacketKey = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>;  // destination, its queue pair, PSN

  // Index of the adapter with this component; none.
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  static std::size_t at(const std::vector<std::size_t>& indices, std::uint32_t component);
  void receive(std::size_t target, const ib::Packet& packet, const Access& access, std::size_t source, std::int64_t now);
  void compare(const FlowKey& key, const Flow& flow, const Access& access, const FlowKey& other_key, const Flow& other);
  void answer(const FlowKey& key, ib::Psn up_to, std::int64_t now);
  void answer_read(std::size_t source, ib::Psn psn, std::int64_t now);
  void answer_all(const FlowKey& key, std::int64_t now);
  void forget_old(std::size_t target, std::int64_t first_sent, std::int64_t now);
  std::string text_of(const Access& access, const FlowKey& key, const Flow& flow) const;

  Tracer& tracer_;
  const std::string_view check_;
  const std::vector<Adapter> adapters_;
  std::vector<std::size_t> by_adapter_, by_port_;  // indices by component
  std::map<FlowKey, Flow> flows_;                  // those with accesses
  std::map<PacketKey, Sent> under_way_;
  std::deque<std::pair<std::int64_t, PacketKey>> departures_;  // of these, and of some that have come, in the order of time
  std::set<std::tuple<FlowKey, std::uint32_t, Kind, Kind>> told_;  // of the later one; key
};

}  // namespace verbatim::observe
