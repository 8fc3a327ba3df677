// Finds unordered remote accesses to the same memory, at least one of which writes. These are mistakes even if they do
// no harm. Reported are accesses through one key by different connections, and a WRITE after a READ of its own
// connection, which a fence would order (IBA 10.8.3.3).
//
// Accesses from one host, or in a run with only two hosts, are unordered if one is sent before the other is answered:
// then no completion, message or synchronisation of processes lies between them.
//
// Accesses from different hosts are ordered by vector clocks (Fidge 1988, Mattern 1989), however far apart they are in
// time. A host's clock counts what it knows of every host. All programs and adapters of a host share one clock, because
// they may communicate by shared memory. A host learns of another from each TCP segment and UDP datagram; from a SEND,
// WRITE or atomic that arrives, because a program may read the memory; from the response of a READ or atomic; from the
// acknowledgement of a message that consumes a receive; and from a datagram of connection management. Another host
// learns of a program's end only through its connections. A host knows that an access is complete if it knows that the
// requester has been answered or, except for a READ, that the access has arrived.
//
// Not reported are accesses that may be intended: two atomics, or accesses within one aligned word of eight bytes. A
// READ counts as answered when its first bytes return, other accesses when their acknowledgement leaves, and all
// accesses of a connection when a later atomic of it is executed or a completion of it is written at the target, even
// though the requester cannot know that yet. Reported races are therefore real, and some are missed.
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
    std::string name;  // used in messages
  };
  // `tracer` must outlive this object. `check` is the name of the check in findings; a literal.
  RemoteRaces(Tracer& tracer, std::string_view check, std::vector<Adapter> adapters);

  TraceEvents events() const override {
    return bits_of(TraceEvent::kAckSent, TraceEvent::kCompletion, TraceEvent::kDatagramReceived,
                   TraceEvent::kQpState);
  }
  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  TraceEvents packet_events() const override {
    return bits_of(TraceEvent::kPacketTransmitted, TraceEvent::kPacketReceived);
  }
  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) override;
  void on_contact(ComponentId from, ComponentId to, Instant done) override;

 private:
  enum class Kind : std::uint8_t { kRead, kWrite, kAtomic };
  static constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max();
  // Vector clock of a host: the latest known count of each host, indexed by that host's place; 0 beyond the end. A
  // host gets a place when its clock first advances, so only hosts that access memory use an entry.
  using Knowledge = std::vector<std::uint32_t>;
  static constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();
  struct Clock {
    Knowledge knows;
    std::shared_ptr<const Knowledge> shown;  // copy for packets that leave; null: out of date
  };
  struct Access {
    Kind kind;
    std::uint32_t key;
    std::uint64_t va, end;
    ib::Psn psn;
    std::int64_t sent_ps, answered_ps;
    std::uint32_t answered_at = kUnknown;  // count of the requester's host at the answer
    std::uint32_t arrived_at = kUnknown;   // count of the target's host at the arrival
  };
  // Accesses of one connection to one adapter, in order.
  struct Flow {
    std::size_t source = 0;  // index of the requester's adapter
    std::deque<Access> accesses;
    std::uint64_t va = ~std::uint64_t{0}, end = 0;  // range that contains all of them
  };
  using FlowKey = std::pair<std::size_t, std::uint32_t>;  // target's index, its QP number
  struct Sent {
    std::size_t source;
    std::int64_t time_ps;
    std::shared_ptr<const Knowledge> knows;  // of the sender's host at that time
  };
  // The last unacknowledged message of a connection that consumed a receive.
  struct Message {
    std::size_t source;
    ib::Psn psn;
  };
  using PacketKey = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>;  // destination, its QP number, PSN

  // Returned by at() if no adapter has this component.
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  static std::size_t at(const std::vector<std::size_t>& indices, std::uint32_t component);
  void receive(std::size_t target, const ib::Packet& packet, Access access, const Sent& sent, std::int64_t now);
  void compare(const FlowKey& key, const Flow& flow, const Access& access, const FlowKey& other_key, const Flow& other,
               const Knowledge* knows);
  bool is_ordered(const Access& earlier, const Flow& of, const Access& later, const Flow& flow, std::size_t target,
                  const Knowledge* knows) const;
  void report(const Access& access, const FlowKey& key, const Flow& flow, const Access& earlier, const FlowKey& other_key,
            const Flow& other);
  // Removes an answered access that `next` repeats, and the oldest one if there are too many.
  static void keep_last(Flow& flow, const Access& next);
  // Marks an access as answered, unless it is.
  void end(Access& access, const Flow& flow, std::int64_t now);
  // Vector clocks of hosts. Host `to` learns what `from` knows; what all hosts know.
  void merge_clock(std::size_t from, std::size_t to);
  void merge_all_clocks(std::size_t to);
  void merge_into(std::size_t host, const Knowledge& knows);
  // Increments a host's own count and returns it.
  std::uint32_t tick(std::size_t host);
  std::uint32_t known(const Knowledge& knows, std::size_t host) const {
    return places_[host] < knows.size() ? knows[places_[host]] : 0;
  }
  // A copy of the host's clock for packets that it sends.
  std::shared_ptr<const Knowledge> snapshot(std::size_t host);
  // Update the clock of the host at whose adapter a packet arrives; for records of acknowledgements,
  // connection management and queue pair states.
  void update_clock(std::size_t here, const TraceRecord& record, const ib::Packet& packet);
  void update_clock(const TraceRecord& record);
  // Mark as answered: accesses up to a PSN, except READs; the READ with a PSN; all accesses of a connection.
  void answer(const FlowKey& key, ib::Psn up_to, std::int64_t now);
  void answer_read(std::size_t source, ib::Psn psn, std::int64_t now);
  void answer_all(const FlowKey& key, std::int64_t now);
  // Removes accesses to `target` that can no longer race.
  void forget_old(std::size_t target, std::int64_t first_sent, std::int64_t now);
  std::string text_of(const Access& access, const FlowKey& key, const Flow& flow) const;

  Tracer& tracer_;
  const std::string_view check_;
  const std::vector<Adapter> adapters_;
  std::vector<std::size_t> by_adapter_, by_port_;  // indices by component
  std::vector<std::size_t> hosts_;                 // host of each adapter
  std::map<ComponentId, std::size_t> by_host_;     // by component
  std::vector<Clock> clocks_;                      // by host; empty: there are only two hosts
  std::vector<std::size_t> places_;                // of each host in Knowledge; kNone: its clock is 0
  std::size_t next_place_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> by_address_;  // adapters that have sent a packet
  std::map<FlowKey, Message> messages_;
  std::map<FlowKey, Flow> flows_;                  // only connections with accesses
  std::map<PacketKey, Sent> under_way_;
  std::deque<std::pair<std::int64_t, PacketKey>> departures_;  // these and some that have arrived, sorted by time
  std::set<std::tuple<FlowKey, std::uint32_t, Kind, Kind>> reported_;  // connection of the later access, key, kinds
};

}  // namespace verbatim::observe
