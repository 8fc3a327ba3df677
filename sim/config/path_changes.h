// Paths through an InfiniBand subnet from a subnet manager's sweep on.
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
  // By LID of an adapter; adapters with different numbers cannot reach each other. Empty: all can.
  std::vector<std::uint32_t> islands;
};

}  // namespace verbatim::config
