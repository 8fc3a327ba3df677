#include "sim/explore/replayed_choices.h"

#include <algorithm>

namespace verbatim::explore {

ReplayedChoices::ReplayedChoices(const std::vector<Decision>& decisions, std::vector<std::string> component_names)
    : components_(std::move(component_names)) {
  for (const Decision& decision : decisions) given_[{decision.site, decision.actor}].decisions.push_back(decision);
  for (auto& [key, stream] : given_) {
    std::stable_sort(stream.decisions.begin(), stream.decisions.end(),
                     [](const Decision& a, const Decision& b) { return a.occurrence < b.occurrence; });
  }
}

std::uint32_t ReplayedChoices::draw(std::string_view site, ComponentId actor, std::uint32_t n) {
  const std::uint64_t occurrence = occurrences_.next(site, actor);
  Stream* const given = streams_.at(site, actor, [&] {
    const auto it = given_.find({std::string(site), actor_name(components_, actor)});
    return it == given_.end() ? nullptr : &it->second;
  });
  if (given == nullptr) return 0;
  Stream& stream = *given;
  if (stream.next == stream.decisions.size() || stream.decisions[stream.next].occurrence != occurrence) return 0;
  const std::uint32_t answer = stream.decisions[stream.next++].answer;
  // Only the first of several decisions about one question is used.
  while (stream.next < stream.decisions.size() && stream.decisions[stream.next].occurrence == occurrence) ++stream.next;
  if (answer < n) return answer;
  ++clamped_;
  return n - 1;
}

std::vector<Decision> ReplayedChoices::unused() const {
  std::vector<Decision> left;
  for (const auto& [key, stream] : given_) {
    left.insert(left.end(), stream.decisions.begin() + static_cast<std::ptrdiff_t>(stream.next), stream.decisions.end());
  }
  return left;
}

}  // namespace verbatim::explore
