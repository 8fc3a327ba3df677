#include "sim/supervisor/tasks/thread_delays.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace verbatim::supervisor {

namespace {

// Empty: no host stalls with a delay at the site.
std::string_view whole_host_of(const DelaySite& site) {
  constexpr std::pair<std::string_view, std::string_view> kStalls[] = {{kBeforeCall.name, kCallWholeHost},
                                                                       {kBeforeLocalCall.name, kLocalCallWholeHost},
                                                                       {kBeforePost.name, kPostWholeHost},
                                                                       {kBeforeArm.name, kArmWholeHost},
                                                                       {kBeforeAccess.name, kAccessWholeHost}};
  const auto* const found = std::ranges::find(kStalls, site.name, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kStalls) ? std::string_view() : found->second;
}

}  // namespace

void ThreadDelays::note_late(const DelaySite& site, Duration delay, std::uint64_t occurrence) {
  was_late_ = {site.name, occurrence};
  stall_ = Duration::zero();
  if (delay < site.delay(site.usual())) return;
  const std::string_view whole_host = whole_host_of(site);
  if (!whole_host.empty() && choices_.choose(whole_host, source_, 2) != 0) stall_ = delay;
}

Duration ThreadDelays::choose(const DelaySite& site) {
  if (!choices_.is_free()) return Duration::zero();
  const std::uint64_t occurrence = occurrences_[site.name]++;
  const Duration delay = rare_[site.name].choose(site, choices_, source_);
  if (delay != Duration::zero()) note_late(site, delay, occurrence);
  return delay;
}

void ThreadDelays::draw_ahead(protocol::ThreadSlot& slot, bool has_accesses) {
  for (std::size_t kind = 0; kind < protocol::kOwnCallKinds; ++kind) {
    std::int64_t& until_late = slot.calls_until_late[kind];
    if (!own_calls_[kind].is_drawn || until_late <= 0) draw(own_calls_[kind], until_late);
  }
  if (!has_accesses) return;
  if (!accesses_.is_drawn || slot.accesses_until_late <= 0) draw(accesses_, slot.accesses_until_late);
}

void ThreadDelays::draw(Expected& expected, std::int64_t& until_late) {
  constexpr std::int64_t kMostAhead = 1024;
  expected.is_drawn = true;
  expected.late = Duration::zero();
  until_late = std::numeric_limits<std::int64_t>::max();
  if (!choices_.is_free()) return;
  std::int64_t number = 0;
  while (number < expected.ahead && expected.late == Duration::zero()) {
    expected.number = occurrences_[expected.site.name]++;
    expected.late = expected.rare.choose(expected.site, choices_, source_);
    ++number;
  }
  // Threads with few calls draw few choices.
  expected.ahead = std::min(2 * expected.ahead, kMostAhead);
  until_late = number;
}

Duration ThreadDelays::take(Expected& expected, std::int64_t& until_late) {
  if (until_late > 0) return Duration::zero();
  const Duration late = expected.late;
  if (late != Duration::zero()) note_late(expected.site, late, expected.number);
  draw(expected, until_late);
  return late;
}

Duration ThreadDelays::take_access(protocol::ThreadSlot& slot, protocol::AccessLateness lateness,
                                   const std::function<std::size_t()>& loads) {
  loads_before_store_ = 0;
  const Duration buffered_for = std::exchange(buffered_for_, Duration::zero());
  if (lateness == protocol::AccessLateness::kBuffered) {
    was_late_ = std::exchange(was_buffered_, std::nullopt);
    return buffered_for;
  }
  const Duration late = take(accesses_, slot.accesses_until_late);
  if (lateness != protocol::AccessLateness::kMayBeBuffered || late == Duration::zero()) return late;
  const auto found = static_cast<std::uint32_t>(loads());
  if (found != 0) loads_before_store_ = choices_.choose(kStoreBuffer, source_, 1 + found);
  if (loads_before_store_ == 0) return late;
  buffered_for_ = late;
  stall_ = Duration::zero();
  was_buffered_ = take_late();
  return Duration::zero();
}

}  // namespace verbatim::supervisor
