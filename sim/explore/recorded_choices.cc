#include "sim/explore/recorded_choices.h"

namespace verbatim::explore {

std::uint32_t RecordedChoices::record(std::string_view site, ComponentId actor, std::uint32_t n, std::uint32_t answer) {
  const std::uint32_t index = streams_.at(site, actor, [&] {
    questions_.streams.push_back({std::string(site), actor_name(components_, actor)});
    return static_cast<std::uint32_t>(questions_.streams.size() - 1);
  });
  Questions::Stream& stream = questions_.streams[index];
  ++stream.asked;
  const ChoicePoint point{index, n, occurrences_.next(site, actor)};
  if (n > 1 && questions_.points.size() < Questions::kMostPoints) questions_.points.push_back(point);
  if (answer != 0) {
    ++stream.decided;
    noted_.push_back({point, answer, engine_ != nullptr ? to_ps(engine_->now()) : 0});
  }
  return answer;
}

std::vector<Decision> RecordedChoices::decisions() const {
  std::vector<Decision> decisions;
  decisions.reserve(noted_.size());
  for (const auto& [point, answer, time_ps] : noted_) {
    const Questions::Stream& stream = questions_.streams[point.stream];
    decisions.push_back({stream.site, stream.actor, point.occurrence, answer, point.alternatives, time_ps});
  }
  return decisions;
}

}  // namespace verbatim::explore
