#include "sim/explore/decision.h"

namespace verbatim::explore {

std::uint64_t Questions::asked() const {
  std::uint64_t sum = 0;
  for (const Stream& stream : streams) sum += stream.asked;
  return sum;
}

std::string actor_name(const ComponentTable& components, ComponentId actor) {
  if (actor.value < components.size()) return std::string(components.name(actor));
  return "thread/" + std::to_string(actor.value - components.size());
}

}  // namespace verbatim::explore
