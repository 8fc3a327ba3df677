// The scripted faults of a run: rules that hit packets on their way out of a port, links that fail and
// come back at given times, and ports that pause their far ends without need. Each rule counts the packets it could hit and
// those it has hit; what happens is a record in the trace.
//
// A rule looks at a packet when it starts on the link, so numbers count transmissions, repeated ones too. It hits packets by
// their numbers, or each with a chance, alone or in bursts; each rule draws from a stream of its own.
// Several rules may hit one packet; each counts it. A copy made by a rule is no victim of others on that
// link.
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

// Which of the packets a rule could hit it does: the first-th, then every every-th, `count` in all.
struct Selection {
  std::uint64_t first = 1;
  std::uint64_t every = 1;
  std::uint64_t count = 1;  // 0: without end

  bool hits(std::uint64_t number) const;
};

// With how many of `of` each packet is hit, or a burst begins with it.
struct Chance {
  std::uint64_t parts = 0, of = 1;
};

// How many packets are hit in a row, each time: so many, or so many in the mean with lengths that are distributed
// geometrically. A burst that is to begin within another does not.
struct Burst {
  std::uint64_t packets = 1;
  bool is_geometric = false;
};

struct Rule {
  Action action = Action::kDrop;

  // Packets.
  std::optional<ib::Operation> operation;  // of any transport; none: every packet
  Selection selection;
  std::optional<Chance> chance;  // from selection.first on, selection.count times; none: `selection` chooses by number
  Burst burst;
  Instant after{};         // earlier packets do not count
  Duration delay{0};       // kDelay
  bool hidden = false;     // kCorrupt: the ICRC is right for the wrong bytes; packets with payload only
  std::uint64_t byte = 0;  // kCorrupt: of the payload; the last, if there are fewer

  // kLinkDown, kPauseStorm: when it begins and ends.
  Instant down{};
  Instant up = kNever;
  std::uint8_t priorities = 0;  // kPauseStorm: bit n: priority n
};

class FaultScript final : public fabric::PacketFaults {
 public:
  FaultScript(Engine& engine, Tracer& tracer) : engine_(engine), tracer_(tracer) {}
  FaultScript(const FaultScript&) = delete;
  FaultScript& operator=(const FaultScript&) = delete;

  // The next rule, from 0. `port` is where its packets leave, or an end of the link, which has pauses for a storm; it outlives
  // the script's last event. What the rule leaves to chance comes from `random`.
  void add(const Rule& rule, fabric::Port& port, const Rng& random = Rng(0, "fault"));

  // How often a rule has fired, and how many packets it could have hit.
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
    std::uint64_t bursts = 0;  // begun
    bool is_in_burst = false;  // the next packet is hit
    std::uint64_t left = 0;    // of a burst of given length

    // Whether the next packet that it could hit is hit.
    bool hits();
    bool begins_burst();
    bool continues_burst();
  };
  // An end of a cable that fails.
  struct FailingEnd {
    FailingEnd(Engine& engine, const Rule& rule, fabric::Port& port, std::uint64_t* fired);
    void on_time();

    const Rule rule;
    fabric::Port& port;
    std::uint64_t* const fired;  // by one of the two ends; null: by the other
    bool is_down = false;
    Timer timer;
  };

  // A port that asks for pauses without need. Storms of one port may overlap; each priority is paused while one asks for it.
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
  std::deque<Entry> entries_;  // in the order of the rules
  std::map<ComponentId, std::vector<Entry*>> of_port_;  // those for its packets
  std::deque<FailingEnd> failing_ends_;
  std::deque<StormingEnd> storming_ends_;
};

}  // namespace verbatim::faults
