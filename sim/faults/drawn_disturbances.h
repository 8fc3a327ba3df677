// Disturbances of packets that choices make, a few in a run, without failing any connection: links that are
// slow for a while, by less than the retry time of connections; datagrams that are lost, late or duplicated.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "sim/core/choice.h"
#include "sim/core/engine.h"
#include "sim/core/trace.h"
#include "sim/fabric/port.h"
#include "sim/faults/drawn_faults.h"

namespace verbatim::faults {

// Number of packets of a port up to and including the first one of a slow period: one of four steps in each
// of 12 octaves; the highest answer means the next packet, the default none of the next 4,096.
inline constexpr std::string_view kLinkDelay = "link-delay";
// Additional delay at the beginning of the slow period, up to 63 ms. It decreases by half of the elapsed
// time, like that of a queue which drains at twice the rate of arrivals. Packets keep their order.
inline constexpr DelaySite kLinkDelayLength{"link-delay/length", Duration(1'000'000), 15};
// Numbers, as for kLinkDelay, of the datagram of a port that is lost and of the one that is delayed, so that
// later ones overtake it; and its delay, up to 2 ms.
inline constexpr std::string_view kDatagramLost = "datagram-lost";
inline constexpr std::string_view kDatagramOvertaken = "datagram-overtaken";
inline constexpr DelaySite kDatagramDelay{"datagram-overtaken/delay", Duration(1'000'000), 11};
// Number of the datagram that arrives twice; only with the quirk duplicated-datagrams.
inline constexpr std::string_view kDatagramDuplicated = "quirk-duplicated-datagram";

class DrawnDisturbances final : public fabric::PacketFaults {
 public:
  // `others` is applied to each packet first.
  DrawnDisturbances(Engine& engine, Choices& choices, Tracer& tracer, fabric::PacketFaults& others)
      : engine_(engine), choices_(choices), tracer_(tracer), others_(others) {}
  DrawnDisturbances(const DrawnDisturbances&) = delete;
  DrawnDisturbances& operator=(const DrawnDisturbances&) = delete;

  // The port must be connected and outlive the last packet.
  void add(fabric::Port& port) { port.set_faults(this); }
  // `patience` returns the current shortest time after which a connection gives up; all delays of a run
  // together stay below it.
  void set_patience(std::function<Duration()> patience) { patience_ = std::move(patience); }
  // Datagrams may be lost and overtaken, one of each in a run, and one may be duplicated.
  void disturb_datagrams(bool may_duplicate) {
    lost_left_ = overtaken_left_ = 1;
    duplicated_left_ = may_duplicate ? 1 : 0;
  }

  fabric::PacketFate on_packet(const fabric::Port& port, ib::Packet& packet) override;

 private:
  // Counts packets up to the next hit.
  struct Ahead {
    std::uint64_t packets = 0;
    bool is_hit = false;
  };
  struct PortState {
    Ahead delay, lost, overtaken, duplicated;
    Instant slow_since{};
    Duration slow_by{0};  // 0: packets take as long as usual
  };
  // Whether this is the packet at which `site` is hit.
  bool is_hit(Ahead& ahead, std::string_view site, ComponentId port, std::uint64_t& left);
  void delay_link(PortState& state, const fabric::Port& port, const ib::Packet& packet, fabric::PacketFate& fate);
  void disturb_datagram(PortState& state, const fabric::Port& port, const ib::Packet& packet, fabric::PacketFate& fate);
  void record(const fabric::Port& port, const ib::Packet& packet, DrawnFaultKind kind) const;

  static constexpr std::uint64_t kMostDelays = 2;
  Engine& engine_;
  Choices& choices_;
  Tracer& tracer_;
  fabric::PacketFaults& others_;
  std::function<Duration()> patience_;
  std::uint64_t delays_left_ = kMostDelays, lost_left_ = 0, overtaken_left_ = 0, duplicated_left_ = 0;
  std::map<ComponentId, PortState> ports_;
};

}  // namespace verbatim::faults
