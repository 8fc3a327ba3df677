// One integer type per kind of identifier; two kinds never mix.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace verbatim {

template <class Tag, class Rep = std::uint32_t>
struct Id {
  Rep value = 0;
  friend constexpr auto operator<=>(Id, Id) = default;
};

// A component's index in the sorted list of all component names. It breaks ties between events, so it must
// not depend on the order of construction.
using ComponentId = Id<struct ComponentTag>;

}  // namespace verbatim

template <class Tag, class Rep>
struct std::hash<verbatim::Id<Tag, Rep>> {
  std::size_t operator()(verbatim::Id<Tag, Rep> id) const noexcept { return id.value; }
};
