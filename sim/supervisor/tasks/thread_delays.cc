#include "sim/supervisor/tasks/thread_delays.h"

#include <algorithm>
#include <limits>

namespace verbatim::supervisor {

Duration ThreadDelays::choose(const DelaySite& site) {
  if (!choices_.is_free()) return Duration::zero();
  const std::uint64_t occurrence = occurrences_[site.name]++;
  const Duration delay = rare_[site.name].choose(site, choices_, source_);
  if (delay != Duration::zero()) was_late_ = {site.name, occurrence};
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
  if (late != Duration::zero()) was_late_ = {expected.site.name, expected.number};
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
  was_buffered_ = take_late();
  return Duration::zero();
}

}  // namespace verbatim::supervisor
