#include "sim/explore/decision.h"

namespace verbatim::explore {

std::string number_of(const Decision& decision) {
  const std::uint64_t step = step_of(decision.site), part = decision.occurrence % step;
  return std::to_string(decision.occurrence / step + 1) + (part == 0 ? "" : ", part " + std::to_string(part + 1));
}

std::uint64_t Occurrences::next(std::string_view site, ComponentId actor) {
  Stream& stream = streams_.at(site, actor, [&] { return Stream{is_detail(site)}; });
  const std::uint64_t before = stream.asked++;
  if (!stream.is_detail) return before;
  if (stream.choice == nullptr) {
    stream.choice = streams_.find(site.substr(0, site.find('/')), actor);
    if (stream.choice == nullptr) return before * kDetailStep;
  }
  stream.part = stream.choices == stream.choice->asked ? stream.part + 1 : 0;
  stream.choices = stream.choice->asked;
  return (stream.choices - 1) * kDetailStep + stream.part;
}

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
