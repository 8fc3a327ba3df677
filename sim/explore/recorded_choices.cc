#include "sim/explore/recorded_choices.h"

namespace verbatim::explore {

std::uint32_t RecordedChoices::draw(std::string_view site, ComponentId actor, std::uint32_t n) {
  const std::uint32_t answer = chooser_.choose(site, actor, n);
  const auto [it, is_new] = streams_.try_emplace({site, actor}, static_cast<std::uint32_t>(questions_.streams.size()));
  if (is_new) questions_.streams.push_back({std::string(site), actor_name(components_, actor), 0});
  Questions::Stream& stream = questions_.streams[it->second];
  const std::uint64_t occurrence = stream.asked++;
  if (n > 1 && questions_.points.size() < Questions::kMostPoints) questions_.points.push_back({it->second, n});
  if (answer != 0) {
    decisions_.push_back({stream.site, stream.actor, occurrence, answer, n,
                          engine_ != nullptr ? to_ps(engine_->now()) : 0});
  }
  return answer;
}

}  // namespace verbatim::explore
