// Scripted faults of a run: rules that hit packets leaving a port, links that fail and come up at given
// times, and ports with pause storms. Each rule counts the packets that it could hit and those that it has
// hit; each hit is a trace record.
//
// A rule examines a packet when it starts on the link, so numbers count transmissions, including
// retransmissions. It hits packets by number or with a probability, alone or in bursts; each rule has its own
// random stream. Several rules may hit the same packet, and each counts it. A copy made by a rule is not hit
// by other rules of that link.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "sim/core/engine.h"
#include "sim/core/rng.h"
#include "sim/core/trace.h"
#include "sim/fabric/port.h"
#include "sim/ib/opcode.h"

namespace verbatim::faults {

enum class Action : std::uint8_t { kDrop, kDuplicate, kCorrupt, kDelay, kMark, kLinkDown, kPauseStorm };

// Selects among the packets that a rule could hit: number `first`, then every `every`-th, `count` in total.
struct Selection {
  std::uint64_t first = 1;
  std::uint64_t every = 1;
  std::uint64_t count = 1;  // 0: unlimited

  bool hits(std::uint64_t number) const;
};

// Probability parts/of that a packet is hit, or that a burst begins with it.
struct Chance {
  std::uint64_t parts = 0, of = 1;
};

// Number of consecutive packets per hit: fixed, or geometrically distributed with this mean. No burst begins
// within another one.
struct Burst {
  std::uint64_t packets = 1;
  bool is_geometric = false;
};

struct Rule {
  Action action = Action::kDrop;

  // For packets.
  std::optional<ib::Operation> operation;  // of any transport; none: every packet
  Selection selection;
  std::optional<Chance> chance;  // from number selection.first on, selection.count times; none: by number
  Burst burst;
  Instant after{};         // earlier packets are not counted
  Duration delay{0};       // kDelay
  bool hidden = false;     // kCorrupt: the ICRC matches the wrong bytes; packets with payload only
  std::uint64_t byte = 0;  // kCorrupt: position in the payload; the last byte if it is shorter

  // kLinkDown, kPauseStorm: begin and end.
  Instant down{};
  Instant up = kNever;
  std::uint8_t priorities = 0;  // kPauseStorm; bit n: priority n
};

class FaultScript final : public fabric::PacketFaults {
 public:
  FaultScript(Engine& engine, Tracer& tracer) : engine_(engine), tracer_(tracer) {}
  FaultScript(const FaultScript&) = delete;
  FaultScript& operator=(const FaultScript&) = delete;

  // Adds the next rule; rules are numbered from 0. `port`: where the packets leave, or an end of the link; a
  // storm needs a link with pauses. The port must outlive the script's last event. Random draws use
  // `random`.
  void add(const Rule& rule, fabric::Port& port, const Rng& random = Rng(0, "fault"));

  // Number of hits of a rule, and of packets that it could have hit.
  std::uint64_t fired(std::size_t rule) const { return entries_.at(rule).fired; }
  std::uint64_t seen(std::size_t rule) const { return entries_.at(rule).seen; }
  std::size_t size() const { return entries_.size(); }

  fabric::PacketFate on_packet(const fabric::Port& port, ib::Packet& packet) override;

 private:
  struct Entry {
    const std::size_t index;
    const Rule rule;
    fabric::Port& port;
    Rng random;
    std::uint64_t seen = 0;
    std::uint64_t fired = 0;
    std::uint64_t bursts = 0;  // number of bursts begun
    bool is_in_burst = false;  // the next packet is hit
    std::uint64_t left = 0;    // rest of a burst of fixed length

    // Whether the next eligible packet is hit.
    bool hits();
    bool begins_burst();
    bool continues_burst();
  };
  // A failing end of a cable.
  struct FailingEnd {
    FailingEnd(Engine& engine, const Rule& rule, fabric::Port& port, std::uint64_t* fired);
    void on_time();

    const Rule rule;
    fabric::Port& port;
    std::uint64_t* const fired;  // counter of the rule, incremented by one of the two ends; null at the other
    bool is_down = false;
    Timer timer;
  };

  // A port with pause storms. Storms of one port may overlap; a priority is paused while at least one storm
  // includes it.
  struct StormingEnd {
    StormingEnd(FaultScript& script, Entry& entry);
    void on_time();

    FaultScript& script;
    Entry& entry;
    bool is_on = false;
    Timer timer;
  };

  static bool may_hit(const Rule& rule, const ib::Packet& packet);
  void hit(Entry& entry, ib::Packet& packet, fabric::PacketFate& fate);

  Engine& engine_;
  Tracer& tracer_;
  std::deque<Entry> entries_;  // by number
  std::map<ComponentId, std::vector<Entry*>> of_port_;  // packet rules of a port
  std::deque<FailingEnd> failing_ends_;
  std::deque<StormingEnd> storming_ends_;
};

}  // namespace verbatim::faults
