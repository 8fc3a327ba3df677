// Output ports by destination, for switches of large fabrics: 16 bits per destination. Most destinations
// have one output; a set of equally good outputs is stored once and shared by all destinations that have
// it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/check.h"
#include "sim/core/prefetch.h"
#include "sim/fabric/packet_sink.h"

namespace verbatim::fabric {

class RouteTable {
 public:
  static constexpr PortNumber kNoRoute{255};

  // Below kSets: a single output, or 0 (the switch itself), or kNoRoute. From kSets on: a set.
  using Entry = std::uint16_t;
  static constexpr Entry kNone = kNoRoute.value, kSets = 256;

  // All destinations, numbered from 0, have no route.
  explicit RouteTable(std::size_t destinations = 0) : entries_(destinations, kNone) {}
  // A linear forwarding table (IBA 18.2.4.3.1): element n is the output for destination n.
  explicit RouteTable(std::span<const PortNumber> outputs) {
    entries_.reserve(outputs.size());
    for (const PortNumber output : outputs) entries_.push_back(output.value);
  }

  std::size_t size() const { return entries_.size(); }

  // Entry for these ports, in ascending order; none: kNone. Equal sets are not merged.
  Entry add(std::span<const PortNumber> ports) {
    if (ports.empty()) return kNone;
    if (ports.size() == 1) return ports[0].value;
    CHECK(sets_.size() < 0x10000u - kSets);
    sets_.push_back({static_cast<std::uint32_t>(ports_.size()), static_cast<std::uint32_t>(ports.size())});
    ports_.insert(ports_.end(), ports.begin(), ports.end());
    return static_cast<Entry>(kSets + sets_.size() - 1);
  }
  void set(std::size_t destination, Entry entry) { entries_.at(destination) = entry; }

  // kNone for destinations beyond the end.
  Entry entry(std::uint64_t destination) const { return destination < entries_.size() ? entries_[destination] : kNone; }
  // Prefetches entry(destination).
  void prefetch(std::uint64_t destination) const { prefetch_lines(entries_.data() + destination, 0, 1); }
  static bool is_set(Entry entry) { return entry >= kSets; }
  // `entry` must be a set.
  std::span<const PortNumber> ports_of(Entry entry) const {
    const Set& set = sets_[entry - kSets];
    return {ports_.data() + set.first, set.count};
  }
  // All outputs of a destination; empty: no route.
  std::vector<PortNumber> ports_to(std::uint64_t destination) const {
    const Entry of = entry(destination);
    if (of == kNone) return {};
    if (!is_set(of)) return {PortNumber{static_cast<std::uint8_t>(of)}};
    const auto ports = ports_of(of);
    return {ports.begin(), ports.end()};
  }

 private:
  struct Set {
    std::uint32_t first, count;  // in ports_
  };

  std::vector<Entry> entries_;  // by destination
  std::vector<Set> sets_;
  std::vector<PortNumber> ports_;  // of all sets, one after the other
};

}  // namespace verbatim::fabric
