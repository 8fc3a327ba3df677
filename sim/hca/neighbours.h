// The MAC addresses of the GIDs on an Ethernet, as address resolution (ARP, neighbour discovery) would find
// them. All adapters of a fabric have the same table, which is complete before the first packet.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "sim/ib/packet.h"

namespace verbatim::hca {

class Neighbours {
 public:
  using Entry = std::pair<ib::Gid, ib::MacAddress>;
  explicit Neighbours(std::vector<Entry> entries) : entries_(std::move(entries)) {
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return is_less(a.first, b.first); });
  }

  std::optional<ib::MacAddress> find(const ib::Gid& gid) const {
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), gid,
                                     [](const Entry& a, const ib::Gid& b) { return is_less(a.first, b); });
    if (at == entries_.end() || at->first != gid) return std::nullopt;
    return at->second;
  }

 private:
  static bool is_less(const ib::Gid& a, const ib::Gid& b) {
    return std::memcmp(a.raw, b.raw, sizeof(a.raw)) < 0;
  }

  std::vector<Entry> entries_;  // by GID
};

}  // namespace verbatim::hca
