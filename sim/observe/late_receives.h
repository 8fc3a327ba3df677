// Judges first receives of connections that were posted when messages could come already (LateReceive): is there a way by which
// the sender may have heard of the post, or of what its host did later, before it sent? If there is none, only luck had the
// receive posted in time.
//
// What tells a host of another: a TCP segment or UDP datagram and a management datagram, of what was done until a program had it
// sent; any other packet, of all until it comes. Of each pair of hosts the last time is kept: hosts between which word may have
// gone round since the post are taken for told, in whichever order it went, and all programs of a host for one, so what is
// found is there, and more may be. A sender that waits for ever for a receive makes no mistake.
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
  // Whether that queue pair of the adapter with this index sends again for ever while the peer has no receive.
  using WaitsForEver = std::function<bool(std::size_t adapter, std::uint32_t qpn)>;
  LateReceives(const std::vector<Adapter>& adapters, WaitsForEver waits_for_ever);

  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) override;
  void on_contact(ComponentId from, ComponentId to, Instant done) override;
  bool is_mistake(const ib::LateReceive& receive) override;

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  static constexpr std::int64_t kNever_ = std::numeric_limits<std::int64_t>::min();
  // A management datagram: its class and method, attribute and transaction; several hosts may number alike.
  using Datagram = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;

  static std::size_t at(const std::vector<std::size_t>& indices, std::uint32_t component);
  void meet(std::size_t from, std::size_t to, std::int64_t done_ps);
  // Index of the adapter that the packet is from; none: it has sent nothing yet.
  std::size_t sender_of(const ib::Packet& packet, std::size_t here) const;
  bool may_know(std::size_t who, std::size_t of, std::int64_t since_ps) const;

  const WaitsForEver waits_for_ever_;
  std::vector<std::size_t> by_adapter_, by_port_;             // indices by component
  std::vector<std::size_t> hosts_;                            // of adapters
  std::map<ComponentId, std::size_t> by_host_;                // component
  std::unordered_map<std::uint64_t, std::size_t> by_address_; // adapters; what has sent anything
  std::vector<std::vector<std::int64_t>> heard_;              // by who hears, then of whom; empty: nothing yet
  std::map<Datagram, std::map<std::size_t, std::int64_t>> datagrams_;  // by host that has sent it, when
};

}  // namespace verbatim::observe
