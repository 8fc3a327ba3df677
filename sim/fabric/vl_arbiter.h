// Which virtual lane of an output sends next (IBA 7.6.9): VL15 before all, then weighted round robin over two tables.
// An entry of the current table sends while it has weight left, however large the packet; else the next entry that can
// send has its turn, with fresh weight. Each packet costs the weight of its LRH length, in units of 4 bytes.
//
// The high priority table goes first until it has sent high_limit times 4096 bytes (0: one packet; 255: no limit) with
// no pause; then the low priority table has an opportunity for one packet.
//
// What IBA leaves open: a table in which no lane can send keeps its place and its weight.
#pragma once

#include <cstdint>
#include <memory>
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

  // The tables of OpenSM (qos_vlarb_high 0:4, qos_vlarb_low 1:4 … 14:4, without their entries of weight 0), with the
  // same limit.
  ArbitrationTables or_default() const {
    if (!high.empty() || !low.empty()) return *this;
    ArbitrationTables tables = *this;
    tables.high.push_back({0, 4});
    for (std::uint32_t lane = 1; lane < 15; ++lane) tables.low.push_back({lane, 4});
    return tables;
  }

  // Bit n is set when lane n has weight in either table: the packets of others would never leave.
  std::uint32_t served_lanes() const {
    std::uint32_t served = 0;
    for (const auto* table : {&high, &low}) {
      for (const ArbitrationEntry& entry : *table) served |= entry.weight > 0 ? 1u << entry.lane : 0;
    }
    return served;
  }
};

// Tables in the form in which arbiters read them; those of many ports share one.
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
        lanes |= 1u << entry.lane;
        entries.push_back({static_cast<std::uint8_t>(entry.lane), static_cast<std::uint8_t>(entry.weight)});
      }
    }
    std::int32_t weight_of(std::size_t place) const { return std::int32_t{entries[place].weight} * 64; }
    bool can_send(std::size_t place, std::uint32_t eligible) const { return (eligible >> entries[place].lane & 1) != 0; }
    friend bool operator==(const Table&, const Table&) = default;

    std::vector<Entry> entries;
    std::uint32_t lanes = 0;  // that have entries
  };

  explicit ArbiterTables(const ArbitrationTables& tables)
      : high(tables.high), low(tables.low), high_limit(tables.high_limit), served_lanes(tables.served_lanes()) {
    CHECK(high_limit <= 255);
  }
  friend bool operator==(const ArbiterTables&, const ArbiterTables&) = default;

  Table high, low;
  std::uint32_t high_limit;    // in units of 4096 bytes
  std::uint32_t served_lanes;  // of both, bit n for lane n
};
using SharedArbiterTables = std::shared_ptr<const ArbiterTables>;

class VlArbiter {
 public:
  explicit VlArbiter(SharedArbiterTables tables)
      : tables_(std::move(tables)), high_(tables_->high), low_(tables_->low) {
    reset_high();
  }
  explicit VlArbiter(const ArbitrationTables& tables) : VlArbiter(std::make_shared<const ArbiterTables>(tables)) {}

  const ArbiterTables& tables() const { return *tables_; }

  // `eligible` has bit n set when lane n has a packet that may start now; not 0, and the lanes are in the tables.
  // The packet starts, and charge() tells how large it is.
  ib::VirtualLane pick(std::uint32_t eligible) {
    CHECK(eligible != 0);
    charged_ = Charged::kNone;
    if ((eligible >> kManagementLane.value & 1) != 0) return kManagementLane;
    if (high_left_ > 0 && high_.find(tables_->high, eligible)) return turn(Charged::kHigh);
    reset_high();
    if (low_.find(tables_->low, eligible)) return turn(Charged::kLow);
    CHECK(high_.find(tables_->high, eligible));
    return turn(Charged::kHigh);
  }
  void charge(std::uint32_t wire_bytes) {
    if (charged_ == Charged::kNone) return;
    const auto bytes = static_cast<std::int32_t>(wire_bytes / 4 * 4);  // without the VCRC, two bytes of the last four
    (charged_ == Charged::kHigh ? high_ : low_).left -= bytes;
    if (charged_ == Charged::kHigh && tables_->high_limit != ArbiterTables::kNoLimit) high_left_ -= bytes;
  }

  // The line stood still for want of packets.
  void pause() { reset_high(); }

 private:
  enum class Charged : std::uint8_t { kNone, kHigh, kLow };

  // A place in a table.
  struct Turns {
    explicit Turns(const ArbiterTables::Table& table) : left(table.entries.empty() ? 0 : table.weight_of(0)) {}
    // Moves to the entry that sends next; false when none can.
    bool find(const ArbiterTables::Table& table, std::uint32_t eligible) {
      if ((eligible & table.lanes) == 0) return false;
      if (left > 0 && table.can_send(current, eligible)) return true;
      do {
        current = current + 1 == table.entries.size() ? 0 : current + 1;
      } while (!table.can_send(current, eligible));
      left = table.weight_of(current);
      return true;
    }

    std::int32_t left;  // weight of the current entry, in bytes
    std::uint32_t current = 0;
  };

  ib::VirtualLane turn(Charged table) {
    charged_ = table;
    const auto& entries = table == Charged::kHigh ? tables_->high.entries : tables_->low.entries;
    return ib::VirtualLane{entries[(table == Charged::kHigh ? high_ : low_).current].lane};
  }
  // With a limit of 0 one packet is sent all the same.
  void reset_high() { high_left_ = tables_->high_limit == 0 ? 1 : static_cast<std::int32_t>(tables_->high_limit) * 4096; }

  SharedArbiterTables tables_;
  Turns high_, low_;
  std::int32_t high_left_ = 0;  // bytes that the high priority table may still begin with
  Charged charged_ = Charged::kNone;
};

}  // namespace verbatim::fabric
