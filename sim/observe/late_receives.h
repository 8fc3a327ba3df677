// Judges the first receive of a connection if it was posted when messages could already arrive (LateReceive): could the
// sender know of the post, or of anything its host did later, before it sent? If not, the receive was posted in time by
// luck only.
//
// A host learns of another by packets. A TCP segment, UDP datagram or management datagram passes on what its host had
// done until a program sent it; any other packet passes on everything until its arrival. Only the last time of each pair
// of hosts is kept. A host counts as informed if a chain of packets since the post reaches it, in whatever order they
// were sent, and all programs of a host count as one. A packet whose sender is not identified counts as a packet from
// every host. Reported mistakes are therefore real, and some are missed. A message that arrived before the post is always
// a mistake. A sender that waits for ever for a receive makes no mistake.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/core/trace.h"
#include "sim/ib/late_receive.h"
#include "sim/ib/packet.h"
#include "sim/ib/packet_observer.h"

namespace verbatim::observe {

class LateReceives final : public TraceSink, public ib::PacketObserver, public ContactObserver, public ib::LateReceiveJudge {
 public:
  struct Adapter {
    ComponentId adapter, port, host;
  };
  // Whether that queue pair of the adapter with this index repeats without limit while the peer has no
  // receive.
  using WaitsForEver = std::function<bool(std::size_t adapter, std::uint32_t qpn)>;
  LateReceives(const std::vector<Adapter>& adapters, WaitsForEver waits_for_ever);

  TraceEvents events() const override { return bits_of(TraceEvent::kDatagramSent, TraceEvent::kDatagramReceived); }
  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  TraceEvents packet_events() const override {
    return bits_of(TraceEvent::kPacketTransmitted, TraceEvent::kPacketReceived);
  }
  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) override;
  void on_contact(ComponentId from, ComponentId to, Instant done) override;
  bool is_mistake(const ib::LateReceive& receive) override;

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  static constexpr std::int64_t kNever_ = std::numeric_limits<std::int64_t>::min();
  // A management datagram: its class and method, attribute, and transaction ID. Several hosts may use the
  // same IDs.
  using Datagram = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;

  static std::size_t at(const std::vector<std::size_t>& indices, std::uint32_t component);
  void meet(std::size_t from, std::size_t to, std::int64_t done_ps);
  // Index of the adapter that sent the packet that `here` has received; kNone if it is unknown. With two adapters it is
  // always the other one; otherwise an adapter is known by its address once it has sent a packet.
  std::size_t sender_of(const ib::Packet& packet, std::size_t here) const;
  bool may_know(std::size_t who, std::size_t of, std::int64_t since_ps) const;

  const WaitsForEver waits_for_ever_;
  std::vector<std::size_t> by_adapter_, by_port_;             // indices by component
  std::vector<std::size_t> hosts_;                            // host of each adapter
  std::map<ComponentId, std::size_t> by_host_;                // by component
  std::unordered_map<std::uint64_t, std::size_t> by_address_; // adapters, once they have sent a packet
  std::vector<std::vector<std::int64_t>> heard_;              // by receiving host, then by the other host; empty: nothing yet
  std::map<Datagram, std::map<std::size_t, std::int64_t>> datagrams_;  // send times, by sending host
};

}  // namespace verbatim::observe
