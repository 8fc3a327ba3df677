#include "sim/fabric/flow_control_packets.h"

#include <algorithm>

namespace verbatim::fabric {

FlowControlPackets::FlowControlPackets(const LinkParams& link, std::size_t lanes)
    : link_(link),
      other_count_(static_cast<std::uint8_t>(lanes - 1)),
      others_(lanes > 1 ? std::make_unique<Lane[]>(lanes - 1) : nullptr) {
  CHECK(lanes >= 1 && lanes <= kLanes && link.credit_update_bytes > 0);
  const auto room = static_cast<std::int64_t>(lanes + 1);
  CHECK(refresh_interval() == Duration(0) || refresh_interval() > room * packet_time());
  earliest_ = refresh_interval() == Duration(0) ? kNever : Instant{} + refresh_interval();
  for (std::size_t i = 0; i < lanes; ++i) lane_of(i).refresh = earliest_;
}

void FlowControlPackets::release(std::size_t lane, std::uint32_t blocks, Instant when) {
  Lane& freed = lane_of(lane);
  const auto comes_last = [when](const Release& before) { return before.when <= when; };
  if (Release* const last = freed.releases.extend_if(comes_last); last != nullptr) [[likely]] {
    *last = {when, blocks};
    if (freed.releases.size() > 1) return;  // the earliest due time is unchanged
  } else {
    freed.releases.insert_sorted({when, blocks}, [](const Release& a, const Release& b) { return a.when < b.when; });
  }
  earliest_ = std::min(earliest_, due(freed, 0, freed.refresh));
}

FlowControlPackets::Walk FlowControlPackets::begin(const LineClock& line) const {
  Walk walk(line);
  for (std::size_t i = 0; i < lane_count(); ++i) {
    walk.reported[i] = 0;
    walk.refresh[i] = lane_of(i).refresh;
  }
  return walk;
}

Instant FlowControlPackets::earliest_due(const Walk& walk) const {
  Instant earliest = kNever;
  for (std::size_t i = 0; i < lane_count(); ++i) earliest = std::min(earliest, due(walk, i));
  return earliest;
}

bool FlowControlPackets::step(Walk& walk, Instant end, CreditUpdate* packet) const {
  skip_rounds(walk, end);
  const Instant start = std::max(walk.line.busy_until(), earliest_due(walk));
  if (start >= end) return false;
  std::size_t number = 0;
  while (due(walk, number) > start) ++number;
  const Lane& lane = lane_of(number);
  std::uint32_t blocks = 0;
  for (std::size_t& reported = walk.reported[number];
       reported < lane.releases.size() && lane.releases[reported].when <= start; ++reported) {
    blocks += lane.releases[reported].blocks;
  }
  if (refresh_interval() > Duration(0)) walk.refresh[number] = start + refresh_interval();
  walk.line.begin(start);
  walk.line.pass(link_.credit_update_bytes);
  *packet = {number, blocks, walk.line.busy_until() + link_.propagation};
  return true;
}

// Skips refresh rounds: if the refreshes of all lanes do not overlap within the interval, all rounds are
// alike.
void FlowControlPackets::skip_rounds(Walk& walk, Instant end) const {
  if (refresh_interval() == Duration(0)) return;
  const std::size_t count = lane_count();
  Instant first = kNever;
  for (std::size_t i = 0; i < count; ++i) {
    first = std::min(first, walk.refresh[i]);
    const Ring<Release>& releases = lane_of(i).releases;
    if (walk.reported[i] < releases.size()) end = std::min(end, releases[walk.reported[i]].when);
  }
  if (first < walk.line.busy_until() || end - first <= 2 * refresh_interval()) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (walk.refresh[i] - first > refresh_interval() - packet_time()) return;
    for (std::size_t j = 0; j < i; ++j) {
      if (std::chrono::abs(walk.refresh[i] - walk.refresh[j]) < packet_time()) return;
    }
  }
  const Duration skipped = ((end - first) / refresh_interval() - 1) * refresh_interval();
  for (std::size_t i = 0; i < count; ++i) walk.refresh[i] += skipped;
}

void FlowControlPackets::commit(const Walk& walk) {
  for (std::size_t i = 0; i < lane_count(); ++i) {
    for (std::size_t n = walk.reported[i]; n > 0; --n) lane_of(i).releases.pop_front();
    lane_of(i).refresh = walk.refresh[i];
  }
  earliest_ = earliest_due(begin(walk.line));
}

Instant FlowControlPackets::data_start_behind(const LineClock& line, Instant at) const {
  if (other_count_ == 0) [[likely]] return data_start_behind_one(line, at);
  Walk walk = begin(line);
  CreditUpdate packet;
  while (earliest_due(walk) < at) {
    CHECK(step(walk, at + Duration(1), &packet));
    at = std::max(at, walk.line.busy_until());
  }
  return at;
}

Instant FlowControlPackets::data_start_behind_one(LineClock line, Instant at) const {
  const Ring<Release>& releases = first_.releases;
  Instant refresh = first_.refresh;
  std::size_t reported = 0;
  for (Instant next = due(first_, reported, refresh); next < at; next = due(first_, reported, refresh)) {
    const Instant end = reported < releases.size() ? std::min(at, releases[reported].when) : at;
    const Duration quiet = end - refresh;
    if (refresh_interval() > Duration(0) && quiet > 2 * refresh_interval() && refresh >= line.busy_until()) [[unlikely]] {
      refresh += (quiet / refresh_interval() - 1) * refresh_interval();
      next = due(first_, reported, refresh);
    }
    const Instant start = std::max(line.busy_until(), next);
    while (reported < releases.size() && releases[reported].when <= start) ++reported;
    if (refresh_interval() > Duration(0)) refresh = start + refresh_interval();
    line.begin(start);
    line.pass(link_.credit_update_bytes);
    at = std::max(at, line.busy_until());
  }
  return at;
}

Instant FlowControlPackets::next_credit_arrival_of_one(LineClock line, std::uint32_t blocks) const {
  const Ring<Release>& releases = first_.releases;
  Instant refresh = first_.refresh;
  std::size_t reported = 0;
  for (;;) {
    // Whole intervals before the next release, in which there are only refreshes, are left out.
    const Duration quiet = releases[reported].when - refresh;
    if (quiet > 2 * refresh_interval() && refresh >= line.busy_until()) [[unlikely]]
      refresh += (quiet / refresh_interval() - 1) * refresh_interval();
    const Instant start = std::max(line.busy_until(), due(first_, reported, refresh));
    std::uint32_t granted = 0;
    for (; reported < releases.size() && releases[reported].when <= start; ++reported) granted += releases[reported].blocks;
    if (refresh_interval() > Duration(0)) refresh = start + refresh_interval();
    line.begin(start);
    line.pass(link_.credit_update_bytes);
    if (granted >= blocks) return line.busy_until() + link_.propagation;
    blocks -= granted;
  }
}

Instant FlowControlPackets::next_credit_arrival(const LineClock& line, std::size_t lane, std::uint32_t blocks) const {
  std::uint32_t known = 0;
  for (std::size_t i = 0; i < lane_of(lane).releases.size(); ++i) known += lane_of(lane).releases[i].blocks;
  if (known < blocks) return kNever;
  if (other_count_ == 0) [[likely]] return next_credit_arrival_of_one(line, blocks);
  Walk walk = begin(line);
  CreditUpdate packet;
  while (step(walk, kNever, &packet)) {
    if (packet.lane != lane) continue;
    if (packet.blocks >= blocks) return packet.arrival;
    blocks -= packet.blocks;
  }
  CHECK(false);
  return kNever;
}

}  // namespace verbatim::fabric
