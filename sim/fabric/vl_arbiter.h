// Chooses the virtual lane of an output that sends next (IBA 7.6.9): VL15 first, then weighted round robin
// over two tables. The current entry of a table sends while it has weight left, however large the packet;
// then the next entry that can send has its turn, with fresh weight. Each packet costs the weight of its
// LRH length, in units of 4 bytes.
//
// The high priority table is served until it has sent high_limit times 4096 bytes (0: one packet; 255: no
// limit) without a pause; then the low priority table has an opportunity for one packet. IBA leaves open
// the state of a table in which no lane can send: here it keeps its current entry and weight.
//
// On Ethernet (802.1Q 8.6.8) a profile may define strict lanes instead, which precede all others, the
// highest first. The other lanes share the line in proportion to their weights, independent of packet
// sizes: bytes that a lane sends beyond its weight count against its next turn (deficit round robin).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/check.h"
#include "sim/fabric/switch_buffer.h"
#include "sim/ib/packet.h"

namespace verbatim::fabric {

struct ArbitrationEntry {
  std::uint32_t lane = 0;    // 0 … 14
  std::uint32_t weight = 0;  // in units of 64 bytes, 0 … 255; 0: the entry is skipped
  friend bool operator==(const ArbitrationEntry&, const ArbitrationEntry&) = default;
};

struct ArbitrationTables {
  std::uint32_t high_limit = 0;  // in units of 4096 bytes, 0 … 255
  // Up to 64 entries each. Both empty: the defaults.
  std::vector<ArbitrationEntry> high, low;
  // On Ethernet, these replace all of the above; both empty: not used. One entry for each lane that is not
  // strict, with weight.
  std::string strict = {};  // as written: "6", "6,7" or "5-7"
  std::uint32_t strict_lanes = 0;  // bit n: lane n
  std::vector<ArbitrationEntry> shares = {};

  bool has_ethernet_scheduling() const { return strict_lanes != 0 || !shares.empty(); }
  // The tables for InfiniBand.
  ArbitrationTables without_ethernet() const { return {.high_limit = high_limit, .high = high, .low = low}; }

  // OpenSM's tables (qos_vlarb_high 0:4, qos_vlarb_low 1:4 … 14:4, without their entries of weight 0), with
  // the same limit.
  ArbitrationTables or_default() const {
    if (!high.empty() || !low.empty() || has_ethernet_scheduling()) return *this;
    ArbitrationTables tables = *this;
    tables.high.push_back({0, 4});
    for (std::uint32_t lane = 1; lane < 15; ++lane) tables.low.push_back({lane, 4});
    return tables;
  }

  // Bit n: lane n is strict or has weight. Packets of other lanes never leave.
  std::uint32_t served_lanes() const {
    if (has_ethernet_scheduling()) return strict_lanes | lanes_of(shares);
    return lanes_of(high) | lanes_of(low);
  }

 private:
  static std::uint32_t lanes_of(const std::vector<ArbitrationEntry>& table) {
    std::uint32_t served = 0;
    for (const ArbitrationEntry& entry : table) served |= entry.weight > 0 ? 1u << entry.lane : 0;
    return served;
  }
};

// Tables in the arbiters' format, which several ports share.
class ArbiterTables {
 public:
  static constexpr std::uint32_t kNoLimit = 255;

  struct Entry {
    std::uint8_t lane = 0;
    std::uint8_t weight = 0;  // in units of 64 bytes, 1 or more
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  struct Table {
    explicit Table(const std::vector<ArbitrationEntry>& given) {
      entries.reserve(given.size());
      for (const ArbitrationEntry& entry : given) {
        CHECK(entry.lane < 15 && entry.weight <= 255);
        if (entry.weight == 0) continue;
        const std::uint32_t bit = 1u << entry.lane;
        (lanes & bit) == 0 ? lone_lanes |= bit : lone_lanes &= ~bit;
        lanes |= bit;
        places[entry.lane] = static_cast<std::uint8_t>(entries.size());
        entries.push_back({static_cast<std::uint8_t>(entry.lane), static_cast<std::uint8_t>(entry.weight)});
      }
    }
    std::int16_t weight_of(std::size_t place) const { return static_cast<std::int16_t>(entries[place].weight * 64); }
    bool can_send(std::size_t place, std::uint32_t eligible) const { return (eligible >> entries[place].lane & 1) != 0; }
    friend bool operator==(const Table&, const Table&) = default;

    std::vector<Entry> entries;
    std::uint32_t lanes = 0;       // bit n: lane n has an entry
    std::uint32_t lone_lanes = 0;  // bit n: lane n has one entry, at places[n]
    std::array<std::uint8_t, 15> places{};
  };

  explicit ArbiterTables(const ArbitrationTables& tables)
      : high(tables.has_ethernet_scheduling() ? std::vector<ArbitrationEntry>() : tables.high),
        low(tables.has_ethernet_scheduling() ? tables.shares : tables.low),
        high_limit(tables.high_limit),
        served_lanes(tables.served_lanes()),
        strict_lanes(tables.strict_lanes),
        keeps_deficits(tables.has_ethernet_scheduling()) {
    CHECK(high_limit <= 255);
  }
  friend bool operator==(const ArbiterTables&, const ArbiterTables&) = default;

  Table high, low;
  std::uint32_t high_limit;    // in units of 4096 bytes
  std::uint32_t served_lanes;  // bit n: lane n
  std::uint32_t strict_lanes;  // bit n: lane n
  bool keeps_deficits;  // of entries of `low`, between turns
};
using SharedArbiterTables = std::shared_ptr<const ArbiterTables>;

class VlArbiter {
 public:
  explicit VlArbiter(SharedArbiterTables tables)
      : tables_(std::move(tables)),
        high_(tables_->high),
        low_(tables_->low),
        deficits_(tables_->keeps_deficits ? std::make_unique<std::int32_t[]>(tables_->low.entries.size()) : nullptr) {
    reset_high();
  }
  explicit VlArbiter(const ArbitrationTables& tables) : VlArbiter(std::make_shared<const ArbiterTables>(tables)) {}

  const ArbiterTables& tables() const { return *tables_; }

  // `eligible` has bit n set if lane n has a packet that may start now; not 0, and its lanes must be in the
  // tables. The packet starts, and charge() must follow with its size.
  ib::VirtualLane pick(std::uint32_t eligible) {
    CHECK(eligible != 0);
    charged_ = Charged::kNone;
    if ((eligible >> kManagementLane.value & 1) != 0) return kManagementLane;
    if (const std::uint32_t strict = eligible & tables_->strict_lanes; strict != 0) {
      return ib::VirtualLane{static_cast<std::uint8_t>(std::bit_width(strict) - 1)};
    }
    if (deficits_ != nullptr) {
      CHECK(low_.find_fair(tables_->low, eligible, deficits_.get()));
      return turn(Charged::kLow);
    }
    if (high_left_ > 0 && high_.find(tables_->high, eligible)) return turn(Charged::kHigh);
    reset_high();
    if (low_.find(tables_->low, eligible)) return turn(Charged::kLow);
    CHECK(high_.find(tables_->high, eligible));
    return turn(Charged::kHigh);
  }
  void charge(std::uint32_t wire_bytes) {
    if (charged_ == Charged::kNone) return;
    if (deficits_ != nullptr) {
      low_.left = static_cast<std::int16_t>(low_.left - static_cast<std::int32_t>(wire_bytes));
      return;
    }
    // Without the VCRC, two bytes of the last four.
    const auto bytes = static_cast<std::int32_t>(wire_bytes / 4 * 4);
    Turns& turns = charged_ == Charged::kHigh ? high_ : low_;
    turns.left = static_cast<std::int16_t>(turns.left - bytes);
    if (charged_ == Charged::kHigh && tables_->high_limit != ArbiterTables::kNoLimit) high_left_ -= bytes;
  }

  // The line was idle for lack of packets.
  void pause() { reset_high(); }

 private:
  enum class Charged : std::uint8_t { kNone, kHigh, kLow };

  // Position in a table.
  struct Turns {
    explicit Turns(const ArbiterTables::Table& table) : left(table.entries.empty() ? std::int16_t{0} : table.weight_of(0)) {}
    // Moves to the entry that sends next; false: none can.
    bool find(const ArbiterTables::Table& table, std::uint32_t eligible) {
      const std::uint32_t able = eligible & table.lanes;
      if (able == 0) return false;
      if (left > 0 && table.can_send(current, eligible)) return true;
      if (is_lone(table, able)) {
        current = table.places[static_cast<std::size_t>(std::countr_zero(able))];
      } else {
        do {
          step(table);
        } while (!table.can_send(current, eligible));
      }
      left = table.weight_of(current);
      return true;
    }

    // The same with deficits: bytes that each entry has sent beyond its weight.
    bool find_fair(const ArbiterTables::Table& table, std::uint32_t eligible, std::int32_t* deficits) {
      const std::uint32_t able = eligible & table.lanes;
      if (able == 0) return false;
      if (left > 0 && table.can_send(current, eligible)) return true;
      if (is_lone(table, able)) {
        find_lone(table, table.places[static_cast<std::size_t>(std::countr_zero(able))], deficits);
        return true;
      }
      do {
        deficits[current] = std::max(-left, 0);
        step(table);
        left = static_cast<std::int16_t>((table.can_send(current, eligible) ? table.weight_of(current) : 0) - deficits[current]);
      } while (left <= 0 || !table.can_send(current, eligible));
      return true;
    }

    // The lanes of the table that can send are one, which has one entry.
    static bool is_lone(const ArbiterTables::Table& table, std::uint32_t able) {
      return (able & (able - 1)) == 0 && (able & table.lone_lanes) != 0;  // has_single_bit() calls a function for it
    }
    // The result of going round the table until the entry at `place` has weight left, as nothing else can send.
    void find_lone(const ArbiterTables::Table& table, std::size_t place, std::int32_t* deficits) {
      deficits[current] = std::max(-left, 0);
      const std::int32_t weight = table.weight_of(place);
      deficits[place] -= deficits[place] / weight * weight;
      current = static_cast<std::uint8_t>(place);
      left = static_cast<std::int16_t>(weight - deficits[place]);
    }

    void step(const ArbiterTables::Table& table) {
      current = current + 1u == table.entries.size() ? std::uint8_t{0} : static_cast<std::uint8_t>(current + 1);
    }

    std::int16_t left;  // remaining weight of the current entry, in bytes; a packet has less than 16 KiB
    std::uint8_t current = 0;
  };

  ib::VirtualLane turn(Charged table) {
    charged_ = table;
    const auto& entries = table == Charged::kHigh ? tables_->high.entries : tables_->low.entries;
    return ib::VirtualLane{entries[(table == Charged::kHigh ? high_ : low_).current].lane};
  }
  // A limit of 0 still permits one packet.
  void reset_high() { high_left_ = tables_->high_limit == 0 ? 1 : static_cast<std::int32_t>(tables_->high_limit) * 4096; }

  SharedArbiterTables tables_;
  Turns high_, low_;
  std::unique_ptr<std::int32_t[]> deficits_;  // bytes per entry of the low table; null: not kept
  std::int32_t high_left_ = 0;  // bytes that the high priority table may still send
  Charged charged_ = Charged::kNone;
};

}  // namespace verbatim::fabric
