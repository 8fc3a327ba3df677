#include "tools/verbatim/run_lanes.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "sim/observe/drop_names.h"
#include "tools/verbatim/recording_kinds.h"

namespace verbatim::cli {

namespace {

using observe::number_of;
using observe::TraceLine;

constexpr std::int64_t kLargestPacket = 66 * 64;  // 4,096 bytes of payload, headers and CRCs

class LaneFinder {
 public:
  LaneFinder(const RecordedRun& run, const RunPicture& picture) : run_(run), picture_(picture) {}

  std::map<std::pair<std::string, std::uint64_t>, LaneHistory> find() {
    for (const TraceLine& fact : run_.facts) {
      const bool is_mark = fact.event == kMarkName, is_drop = fact.event == kDropName;
      if (!is_mark && !is_drop && fact.event != kOutputQueueName) continue;
      LaneHistory& lane = at(fact.component, number_of(fact, "vl"));
      const std::size_t bin = picture_.bin_of(fact.time_ps);
      if (is_mark) {
        ++lane.marked;
        lane.marks.put(bin, 1);
      } else if (is_drop) {
        const std::uint64_t reason = number_of(fact, "reason");
        if (!observe::is_loss(reason)) continue;
        ++lane.dropped[reason];
        lane.drops.put(bin, 1);
      } else {
        const auto bytes = static_cast<std::int64_t>(number_of(fact, "bytes"));
        lane.deepest = std::max(lane.deepest, bytes);
        lane.queue.begin_level(bin, bytes);
      }
    }
    for (const TraceLine& line : run_.lines) {
      if (line.event == "pause-frame") add_pause(line);
    }
    const std::int64_t end = run_.lines.empty() ? 0 : run_.lines.back().time_ps;
    for (const auto& [place, since] : since_) at(place.first, place.second).paused_ps += std::max<std::int64_t>(0, end - since);
    return std::move(lanes_);
  }

 private:
  LaneHistory& at(const std::string& component, std::uint64_t number) {
    LaneHistory& lane = lanes_[{component, number}];
    lane.port = component;
    lane.lane = static_cast<std::uint32_t>(number);
    return lane;
  }

  void add_pause(const TraceLine& line) {
    constexpr std::uint64_t kPriorities = 8;
    const std::uint64_t named = number_of(line, "priorities"), paused = number_of(line, "paused");
    for (std::uint64_t priority = 0; priority < kPriorities; ++priority) {
      if ((named >> priority & 1) == 0) continue;
      const bool is_paused = (paused >> priority & 1) != 0;
      const std::pair place(line.component, priority);
      const auto known = since_.find(place);
      if (is_paused == (known != since_.end())) continue;
      LaneHistory& lane = at(line.component, priority);
      lane.pausing.begin_level(picture_.bin_of(line.time_ps), is_paused ? 1 : 0);
      if (is_paused) {
        ++lane.pauses;
        since_.emplace(place, line.time_ps);
      } else {
        lane.paused_ps += line.time_ps - known->second;
        since_.erase(known);
      }
    }
  }

  const RecordedRun& run_;
  const RunPicture& picture_;
  std::map<std::pair<std::string, std::uint64_t>, LaneHistory> lanes_;
  std::map<std::pair<std::string, std::uint64_t>, std::int64_t> since_;  // of pauses that last
};

template <class Item>
std::size_t keep_first(std::vector<Item>& list, std::size_t most) {
  const std::size_t left_out = list.size() - std::min(most, list.size());
  list.erase(list.end() - static_cast<std::ptrdiff_t>(left_out), list.end());
  return left_out;
}

}  // namespace

std::uint64_t LaneHistory::all_dropped() const {
  std::uint64_t sum = 0;
  for (const auto& [reason, packets] : dropped) sum += packets;
  return sum;
}

bool LaneHistory::is_congested() const { return pauses + marked != 0 || !dropped.empty() || deepest > kLargestPacket; }

std::vector<LaneHistory> congested_lanes_of(const RecordedRun& run, const RunPicture& picture, std::size_t most,
                                            std::size_t* left_out) {
  std::vector<LaneHistory> list;
  for (auto& [place, lane] : LaneFinder(run, picture).find()) {
    if (lane.is_congested()) list.push_back(std::move(lane));
  }
  const auto badness = [](const LaneHistory& lane) {
    return std::tuple(lane.all_dropped(), lane.paused_ps, lane.marked, lane.deepest);
  };
  std::ranges::stable_sort(list, std::greater{}, badness);
  *left_out = keep_first(list, most);
  return list;
}

std::vector<RateHistory> rates_of(const RecordedRun& run, const RunPicture& picture, std::size_t most, std::size_t* left_out) {
  constexpr std::string_view kAdapter = "hca/";
  std::map<std::pair<std::string, std::uint64_t>, RateHistory> all;
  for (const TraceLine& line : run.lines) {
    if (line.event != "rate" || !line.component.starts_with(kAdapter)) continue;
    const std::string host = line.component.substr(kAdapter.size());
    const std::uint64_t qpn = number_of(line, "qpn");
    RateHistory& rate = all[{host, qpn}];
    const auto mbps = static_cast<std::int64_t>(number_of(line, "mbps"));
    rate.host = host;
    rate.qpn = qpn;
    rate.lowest = ++rate.changes == 1 ? mbps : std::min(rate.lowest, mbps);
    const std::size_t bin = picture.bin_of(line.time_ps);
    rate.least.put(bin, mbps);
    rate.most.put(bin, mbps);
  }
  std::vector<RateHistory> list;
  for (auto& [place, rate] : all) list.push_back(std::move(rate));
  std::ranges::stable_sort(list, {}, &RateHistory::lowest);
  *left_out = keep_first(list, most);
  return list;
}

}  // namespace verbatim::cli
