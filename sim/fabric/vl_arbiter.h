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

class VlArbiter {
 public:
  explicit VlArbiter(const ArbitrationTables& tables)
      : high_(tables.high), low_(tables.low), high_limit_(tables.high_limit) {
    CHECK(high_limit_ <= 255);
    reset_high();
  }

  // Whether it serves by these tables.
  bool has(const ArbitrationTables& tables) const {
    return high_limit_ == tables.high_limit && high_.entries == Table(tables.high).entries &&
           low_.entries == Table(tables.low).entries;
  }

  // `eligible` has bit n set when lane n has a packet that may start now; not 0, and the lanes are in the tables.
  // The packet starts, and charge() tells how large it is.
  ib::VirtualLane pick(std::uint32_t eligible) {
    CHECK(eligible != 0);
    charged_ = nullptr;
    if ((eligible >> kManagementLane.value & 1) != 0) return kManagementLane;
    if (high_left_ > 0 && high_.find(eligible)) return turn(high_);
    reset_high();
    if (low_.find(eligible)) return turn(low_);
    CHECK(high_.find(eligible));
    return turn(high_);
  }
  void charge(std::uint32_t wire_bytes) {
    if (charged_ == nullptr) return;
    const std::int64_t bytes = wire_bytes / 4 * 4;  // without the VCRC, two bytes of the last four
    charged_->left -= bytes;
    if (charged_ == &high_ && high_limit_ != kNoLimit) high_left_ -= bytes;
  }

  // The line stood still for want of packets.
  void pause() { reset_high(); }

 private:
  static constexpr std::uint32_t kNoLimit = 255;

  struct Table {
    explicit Table(const std::vector<ArbitrationEntry>& given) {
      entries.reserve(given.size());
      for (const ArbitrationEntry& entry : given) {
        CHECK(entry.lane < 15 && entry.weight <= 255);
        if (entry.weight == 0) continue;
        lanes |= 1u << entry.lane;
        entries.push_back({static_cast<std::uint8_t>(entry.lane), static_cast<std::uint8_t>(entry.weight)});
      }
      if (!entries.empty()) left = weight_of(0);
    }
    std::int64_t weight_of(std::size_t place) const { return std::int64_t{entries[place].weight} * 64; }
    bool can_send(std::size_t place, std::uint32_t eligible) const {
      return (eligible >> entries[place].lane & 1) != 0;
    }
    // Moves to the entry that sends next; false when none can.
    bool find(std::uint32_t eligible) {
      if ((eligible & lanes) == 0) return false;
      if (left > 0 && can_send(current, eligible)) return true;
      do {
        current = current + 1 == entries.size() ? 0 : current + 1;
      } while (!can_send(current, eligible));
      left = weight_of(current);
      return true;
    }

    struct Entry {
      std::uint8_t lane = 0;
      std::uint8_t weight = 0;  // in units of 64 bytes, 1 or more
      friend bool operator==(const Entry&, const Entry&) = default;
    };
    std::vector<Entry> entries;
    std::uint32_t lanes = 0;  // that have entries
    std::uint32_t current = 0;
    std::int64_t left = 0;  // weight of the current entry, in bytes
  };

  ib::VirtualLane turn(Table& table) {
    charged_ = &table;
    return ib::VirtualLane{static_cast<std::uint8_t>(table.entries[table.current].lane)};
  }
  // With a limit of 0 one packet is sent all the same.
  void reset_high() { high_left_ = high_limit_ == 0 ? 1 : std::int64_t{high_limit_} * 4096; }

  Table high_, low_;
  std::uint32_t high_limit_;
  std::int64_t high_left_ = 0;  // bytes that the high priority table may still begin with
  Table* charged_ = nullptr;
};

}  // namespace verbatim::fabric
