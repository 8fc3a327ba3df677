// Request packets of a queue pair that have overtaken others, on a fabric whose switches give each packet a way of its own
// (sim/fabric/load_balancing.h). They wait here, in memory of the adapter, until those before them have come: the responder sees
// all in order. A gap that lasts too long, or that is followed by more packets than the adapter keeps, is the responder's matter,
// which answers with a NAK; what waits here stays, and serves when the missing packet comes again.
//
// A device places the bytes of such a WRITE when they come; here they are placed when their turn has come.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/core/engine.h"
#include "sim/hca/hca_profile.h"
#include "sim/ib/packet.h"
#include "sim/ib/psn.h"

namespace verbatim::hca {

// In trails: of a packet that has overtaken others.
inline constexpr char kMissingPackets[] = "queue pair: earlier packets are missing";

class PacketOrder {
 public:
  // Learns that a gap has lasted for the time that the profile gives.
  class Listener {
   public:
    // `packet` is the first behind the gap.
    virtual void on_old_gap(ib::PacketPtr packet) = 0;

   protected:
    ~Listener() = default;
  };

  enum class Place : std::uint8_t {
    kTurn,   // for the responder now: the next, or one that is none of those to wait for
    kAhead,  // to be held
    kAgain,  // it is held already
    kBack,   // for the responder now: the requester sends all again from here on, and those that are held are to go
  };

  // The timer's events are of `component`. All outlive this.
  PacketOrder(Engine& engine, ComponentId component, const ReorderProfile& profile, Listener& listener);

  // `next`: the PSN of the first packet; `mtu`: bytes of one.
  void start(ib::Psn next, std::uint32_t mtu);
  // Of a packet that has come; one whose turn it is takes it. `expected`: the PSN that the responder expects, unless a packet
  // that has had its turn still waits at its driver.
  Place place(const ib::Packet& packet, std::optional<ib::Psn> expected);
  void hold(ib::PacketPtr packet);
  // The packet whose turn has come; null: there is none.
  ib::PacketPtr take_turn();
  // Any that is held; null: there is none.
  ib::PacketPtr take_any();

 private:
  std::size_t slot(ib::Psn psn) const { return psn.value % held_.size(); }
  void advance(const ib::Packet& packet);
  void watch_gap();
  void on_timer();

  Engine& engine_;
  const ReorderProfile& profile_;
  Listener& listener_;
  std::uint32_t mtu_ = 0;
  ib::Psn next_;
  std::vector<ib::PacketPtr> held_;  // by PSN modulo its size; empty until one is held
  std::uint32_t count_ = 0;          // of packets in it
  Timer timer_;                      // runs while there is a gap
};

}  // namespace verbatim::hca
