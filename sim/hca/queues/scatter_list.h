// The scatter/gather list of one work request: a copy of the ring entry, which the program cannot change.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "verbs_shim/protocol/rings.h"

namespace verbatim::hca {

class ScatterList {
 public:
  ScatterList() = default;
  // Copies `count` protocol::Sge from `from`.
  ScatterList(const std::byte* from, std::uint32_t count) : count_(count) {
    protocol::Sge* to = inline_;
    if (count > kInline) {
      more_.resize(count);
      to = more_.data();
    }
    if (count > 0) std::memcpy(to, from, count * sizeof(protocol::Sge));
  }

  std::uint32_t size() const { return count_; }
  std::span<const protocol::Sge> entries() const {
    return {count_ > kInline ? more_.data() : inline_, count_};
  }
  std::span<protocol::Sge> entries() { return {count_ > kInline ? more_.data() : inline_, count_}; }
  std::uint64_t total_bytes() const {
    std::uint64_t total = 0;
    for (const protocol::Sge& sge : entries()) total += sge.length;
    return total;
  }

  // Calls visit(sge, offset within it, bytes) for each part of [offset, offset + length) of the list; stops
  // and returns false when visit does.
  template <class Visit>
  bool visit(std::uint64_t offset, std::uint32_t length, Visit&& visit) const {
    for (const protocol::Sge& sge : entries()) {
      if (length == 0) break;
      if (offset >= sge.length) {
        offset -= sge.length;
        continue;
      }
      const std::uint32_t part =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(length, sge.length - offset));
      if (!visit(sge, static_cast<std::uint32_t>(offset), part)) return false;
      length -= part;
      offset = 0;
    }
    return length == 0;
  }

 private:
  static constexpr std::uint32_t kInline = 2;
  std::uint32_t count_ = 0;
  protocol::Sge inline_[kInline] = {};
  std::vector<protocol::Sge> more_;
};

}  // namespace verbatim::hca
