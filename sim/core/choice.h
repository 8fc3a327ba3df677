// Every freedom the specification leaves is asked of this interface, so that exploring, replaying and shrinking
// need no second mechanism. The default answer is 0, which every site defines as what a ConnectX user sees.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/core/ids.h"

namespace verbatim {

class Choices {
 public:
  virtual ~Choices() = default;
  // One of 0 … n-1 at `site` (a fixed name such as "ack-coalescing") for `actor`; n >= 1.
  virtual std::uint32_t choose(std::string_view site, ComponentId actor, std::uint32_t n) = 0;
};

class DefaultChoices final : public Choices {
 public:
  std::uint32_t choose(std::string_view, ComponentId, std::uint32_t) override { return 0; }
};

}  // namespace verbatim
