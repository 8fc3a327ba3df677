// Finds remote accesses to the same memory that nothing orders, and of which one writes. It is a mistake whatever came of it.
// Told are accesses through one key: of different connections, and a WRITE behind a READ of its own connection, which a fence
// would order (IBA 10.8.3.3).
//
// Of two accesses from one host, or where there are but two hosts: one is on the wire before the other has been answered, so that
// no completion, message or synchronisation of processes stood between them.
//
// Of two accesses from different hosts: by vector clocks (Fidge 1988, Mattern 1989), however much time lies between them. A
// host's clock counts what it knows of every host; all its programs and adapters share one, for they may share memory in which
// nobody sees them meet. What tells a host of another: each TCP segment and UDP datagram; a SEND, and a WRITE or atomic, at
// the place to which it goes, for a program may look there; a READ's and an atomic's answer; the acknowledgement of what takes
// a receive; a datagram of connection management. That a program has ended no other host notices but by its connections. An
// access is known to be complete by who knows that its requester has been answered, or, but for a READ, that it has come.
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
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/core/trace.h"
#include "sim/ib/packet.h"
#include "sim/ib/packet_observer.h"

namespace verbatim::observe {

class RemoteRaces final : public TraceSink, public ib::PacketObserver, public ContactObserver {
 public:
  struct Adapter {
    ComponentId adapter, port, host;
    std::string name;  // for people
  };
  // `tracer` outlives it. `check` is the name under which findings are told; a literal.
  RemoteRaces(Tracer& tracer, std::string_view check, std::vector<Adapter> adapters);

  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) override;
  void on_contact(ComponentId from, ComponentId to, Instant done) override;

 private:
  enum class Kind : std::uint8_t { kRead, kWrite, kAtomic };
  static constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max();
  // How far a host knows each host, by the place of that one; 0 beyond the end. A host gets a place when its clock counts for the
  // first time, so that a run among thousands of idle hosts takes memory for those alone that access memory.
  using Knowledge = std::vector<std::uint32_t>;
  static constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();
  struct Clock {
    Knowledge knows;
    std::shared_ptr<const Knowledge> shown;  // the same, for packets that leave; null: it has changed since
  };
  struct Access {
    Kind kind;
    std::uint32_t key;
    std::uint64_t va, end;
    ib::Psn psn;
    std::int64_t sent_ps, answered_ps;
    std::uint32_t answered_at = kUnknown;  // by the clock of the requester's host
    std::uint32_t came_at = kUnknown;      // by the clock of the target's
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
    std::shared_ptr<const Knowledge> knows;  // of its host when it left
  };
  // Of a connection to an adapter: the last message that took a receive, until it is acknowledged.
  struct Message {
    std::size_t source;
    ib::Psn psn;
  };
  using PacketKey = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>;  // destination, its queue pair, PSN

  // Index of the adapter with this component; none.
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  static std::size_t at(const std::vector<std::size_t>& indices, std::uint32_t component);
  void receive(std::size_t target, const ib::Packet& packet, Access access, const Sent& sent, std::int64_t now);
  void compare(const FlowKey& key, const Flow& flow, const Access& access, const FlowKey& other_key, const Flow& other,
               const Knowledge* knows);
  bool is_ordered(const Access& earlier, const Flow& of, const Access& later, const Flow& flow, std::size_t target,
                  const Knowledge* knows) const;
  void tell(const Access& access, const FlowKey& key, const Flow& flow, const Access& earlier, const FlowKey& other_key,
            const Flow& other);
  static void keep_last(Flow& flow, const Access& next);
  void end(Access& access, const Flow& flow, std::int64_t now);
  // Hosts.
  void meet(std::size_t from, std::size_t to);
  void learn(std::size_t host, const Knowledge& knows);
  void meet_all(std::size_t to);
  std::uint32_t tick(std::size_t host);
  std::uint32_t known(const Knowledge& knows, std::size_t host) const {
    return places_[host] < knows.size() ? knows[places_[host]] : 0;
  }
  std::shared_ptr<const Knowledge> show(std::size_t host);
  // What tells the host at whose adapter a packet is something of the one from which it comes.
  void hear(std::size_t here, const TraceRecord& record, const ib::Packet& packet);
  void hear(const TraceRecord& record);
  void answer(const FlowKey& key, ib::Psn up_to, std::int64_t now);
  void answer_read(std::size_t source, ib::Psn psn, std::int64_t now);
  void answer_all(const FlowKey& key, std::int64_t now);
  void forget_old(std::size_t target, std::int64_t first_sent, std::int64_t now);
  std::string text_of(const Access& access, const FlowKey& key, const Flow& flow) const;

  Tracer& tracer_;
  const std::string_view check_;
  const std::vector<Adapter> adapters_;
  std::vector<std::size_t> by_adapter_, by_port_;  // indices by component
  std::vector<std::size_t> hosts_;                 // of adapters
  std::map<ComponentId, std::size_t> by_host_;     // component
  std::vector<Clock> clocks_;                      // of hosts; none: there are but two
  std::vector<std::size_t> places_;                // of hosts in what is known; kNone: it has not counted
  std::size_t next_place_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> by_address_;  // adapters; what has sent anything
  std::map<FlowKey, Message> messages_;
  std::map<FlowKey, Flow> flows_;                  // those with accesses
  std::map<PacketKey, Sent> under_way_;
  std::deque<std::pair<std::int64_t, PacketKey>> departures_;  // of these, and of some that have come, in the order of time
  std::set<std::tuple<FlowKey, std::uint32_t, Kind, Kind>> told_;  // of the later one; key
};

}  // namespace verbatim::observe
