#include "tools/verbatim/places.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace verbatim::cli {

namespace {

using Kind = supervisor::CallPlace::Kind;

// Different places, the latest first, limited to a readable number.
class Found {
 public:
  void add(const std::string& place) {
    if (!place.empty() && !std::ranges::count(texts_, place)) texts_.push_back(place);
  }
  bool is_empty() const { return texts_.empty(); }
  std::string text(std::string_view done) const {
    constexpr std::size_t kMost = 3;
    if (texts_.empty() || texts_.size() > kMost) return "";
    std::string text(done);
    for (std::size_t i = 0; i < texts_.size(); ++i) text += (i == 0 ? "" : ", or at ") + texts_[i];
    return text;
  }

 private:
  std::vector<std::string> texts_;
};

}  // namespace

const RunReport::Place* Places::find(const explore::Decision& decision) const {
  // The place reported last has the most information.
  const auto found = std::find_if(places_.rbegin(), places_.rend(), [&](const RunReport::Place& place) {
    return place.call.kind == Kind::kLate && place.component == decision.actor && place.call.site == decision.site &&
           place.call.occurrence == decision.occurrence;
  });
  return found == places_.rend() ? nullptr : &*found;
}

std::string Places::of(const explore::Decision& decision) const {
  const RunReport::Place* const place = find(decision);
  return place == nullptr ? "" : place->call.place;
}

std::optional<std::int64_t> Places::end_of(const explore::Decision& decision) const {
  const RunReport::Place* const place = find(decision);
  return place == nullptr ? std::nullopt : std::optional(place->call.time_ps);
}

std::string Places::of(const observe::TraceLine& line) const {
  const auto is_number = [&](const RunReport::Place& place, const char* name) {
    return line.value(name) == std::to_string(place.call.number);
  };
  // Latest first.
  std::vector<std::reference_wrapper<const RunReport::Place>> before;
  std::copy_if(places_.rbegin(), places_.rend(), std::back_inserter(before), [&](const RunReport::Place& place) {
    return place.call.kind != Kind::kLate && place.call.time_ps <= line.time_ps;
  });
  const auto is_here = [&](const RunReport::Place& place) { return place.component == line.component; };
  const auto is_post = [](const RunReport::Place& place) { return place.call.kind != Kind::kArm; };
  Found found;
  const bool asks = line.event == "doorbell" && line.value("kind") == "1";
  if (asks || line.event == "completion-event") {
    for (const RunReport::Place& place : before) {
      if (!found.is_empty() || !is_here(place) || is_post(place) || !is_number(place, asks ? "number" : "cqn")) continue;
      found.add(place.call.place);
    }
    return found.text(asks ? "called at " : "armed at ");
  }
  if (line.event == "completion") {
    // A send and a receive may have the same wr_id.
    bool has[3] = {};
    for (const RunReport::Place& place : before) {
      const bool fits = place.call.kind == Kind::kSharedReceive || is_number(place, "qpn");
      if (!is_here(place) || !is_post(place) || !fits || line.value("wr_id") != std::to_string(place.call.wr_id)) continue;
      if (!std::exchange(has[static_cast<std::size_t>(place.call.kind)], true)) found.add(place.call.place);
    }
    return found.text("posted at ");
  }
  const bool rings = line.event == "doorbell" && line.value("kind") == "0";
  if (rings || line.event == "wqe-fetched" || line.event == "payload-gathered") {
    for (const RunReport::Place& place : before) {
      if (!is_here(place) || place.call.kind != Kind::kSend || !is_number(place, rings ? "number" : "qpn")) continue;
      found.add(place.call.place);
      if (rings) break;
    }
    return found.text("posted at ");
  }
  if (line.event == "dma-write") {
    for (const RunReport::Place& place : before) {
      if (!is_here(place) && place.call.kind == Kind::kSend) found.add(place.call.place);
    }
    return found.text("of a message posted at ");
  }
  return "";
}

}  // namespace verbatim::cli
