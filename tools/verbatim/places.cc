#include "tools/verbatim/places.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
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

namespace {

constexpr std::string_view kPlaceFrom = ", from ";

// The location of a call, that of the function's caller, and further text: "app.h:88", "app.c:120", ", before touching …".
struct PlaceParts {
  std::string call, caller, rest;
};

PlaceParts place_parts_of(const std::string& place) {
  const std::size_t from = place.find(kPlaceFrom);
  if (from == place.npos) return {place, "", ""};
  const std::size_t caller = from + kPlaceFrom.size(), end = std::min(place.find(", ", caller), place.size());
  return {place.substr(0, from), place.substr(caller, end - caller), place.substr(end)};
}

bool is_place_in_header(const std::string& call) {
  const std::string file = call.substr(0, call.find(':'));
  return file.ends_with(".h") || file.ends_with(".hh") || file.ends_with(".hpp");
}

}  // namespace

Places::Places(std::vector<RunReport::Place> places) : places_(std::move(places)) {
  std::map<std::string, std::set<std::string>> callers;
  for (const RunReport::Place& place : places_) {
    const PlaceParts parts = place_parts_of(place.call.place);
    if (!parts.caller.empty()) callers[parts.call].insert(parts.caller);
  }
  for (const auto& [call, of_call] : callers) {
    if (of_call.size() > 1 || is_place_in_header(call)) wrappers_.insert(call);
  }
}

std::string Places::shown(const std::string& place) const {
  const PlaceParts parts = place_parts_of(place);
  if (parts.caller.empty() || !wrappers_.contains(parts.call)) return place;
  return parts.caller + ", through " + parts.call + parts.rest;
}

std::uint32_t Places::thread_of(const explore::Decision& decision) const {
  const RunReport::Place* const place = find(decision);
  return place == nullptr ? 0 : place->call.thread;
}

std::string Places::of_post(std::string_view component, std::uint64_t qpn, std::int64_t until_ps,
                            std::optional<std::uint64_t> wr_id) const {
  for (auto place = places_.rbegin(); place != places_.rend(); ++place) {
    if (place->call.kind != Kind::kSend || place->component != component || place->call.time_ps > until_ps) continue;
    if ((qpn == 0 || place->call.number == qpn) && (!wr_id || place->call.wr_id == *wr_id)) return shown(place->call.place);
  }
  return "";
}

bool Places::is_of_send(const observe::TraceLine& completion) const {
  for (auto place = places_.rbegin(); place != places_.rend(); ++place) {
    if (place->call.kind == Kind::kLate || place->call.kind == Kind::kArm || place->component != completion.component) continue;
    if (place->call.time_ps > completion.time_ps || completion.value("wr_id") != std::to_string(place->call.wr_id)) continue;
    if (place->call.kind == Kind::kSharedReceive) return false;
    if (completion.value("qpn") == std::to_string(place->call.number)) return place->call.kind == Kind::kSend;
  }
  return false;
}

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
  return place == nullptr ? "" : shown(place->call.place);
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
      found.add(shown(place.call.place));
    }
    return found.text(asks ? "called at " : "armed at ");
  }
  if (line.event == "completion") {
    // A send and a receive may have the same wr_id.
    bool has[3] = {};
    for (const RunReport::Place& place : before) {
      const bool fits = place.call.kind == Kind::kSharedReceive || is_number(place, "qpn");
      if (!is_here(place) || !is_post(place) || !fits || line.value("wr_id") != std::to_string(place.call.wr_id)) continue;
      if (!std::exchange(has[static_cast<std::size_t>(place.call.kind)], true)) found.add(shown(place.call.place));
    }
    return found.text("posted at ");
  }
  const bool rings = line.event == "doorbell" && line.value("kind") == "0";
  if (rings || line.event == "wqe-fetched" || line.event == "payload-gathered") {
    for (const RunReport::Place& place : before) {
      if (!is_here(place) || place.call.kind != Kind::kSend || !is_number(place, rings ? "number" : "qpn")) continue;
      found.add(shown(place.call.place));
      if (rings) break;
    }
    return found.text("posted at ");
  }
  if (line.event == "dma-write") {
    for (const RunReport::Place& place : before) {
      if (!is_here(place) && place.call.kind == Kind::kSend) found.add(shown(place.call.place));
    }
    return found.text("of a message posted at ");
  }
  return "";
}

}  // namespace verbatim::cli
