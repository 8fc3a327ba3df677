// Paths through an InfiniBand subnet as they are from a sweep of its manager on.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/time.h"
#include "sim/subnet/subnet.h"

namespace verbatim::config {

struct PathChange {
  Instant since{};
  std::shared_ptr<const subnet::ServiceLevels> levels;  // null: 0 for all
  // By LID of an adapter: between different numbers no cables lead. Empty: all reach each other.
  std::vector<std::uint32_t> islands;
};

}  // namespace verbatim::config
