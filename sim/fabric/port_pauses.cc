// Pauses of a port's link: when this end asks for them, the frames that do, and the watchdog.
#include <algorithm>
#include <memory>

#include "sim/fabric/port.h"
#include "sim/ib/frame.h"
#include "sim/ib/packet_trace.h"

namespace verbatim::fabric {

void Port::pause_if_full(ib::VirtualLane lane) {
  if (lane == kManagementLane || !buffer_->groups()->is_full(buffer_->group_of(number_, lane))) return;
  if ((asked_pauses() >> lane.value & 1) != 0) return;
  link_->pauses()->ask(lane.value, true, engine_.now());
  schedule_pause_timer(engine_.now());
}

void Port::on_pause_timer() {
  SharedBuffer& groups = *buffer_->groups();
  groups.settle(engine_.now());
  for (std::uint32_t rest = asked_pauses() & ~extras_->pause_storm; rest != 0; rest &= rest - 1) {
    const ib::VirtualLane lane = lowest_of(rest);
    const std::size_t group = buffer_->group_of(number_, lane);
    if (!groups.has_left(group, engine_.now()) || !groups.has_room_again(group)) continue;
    link_->pauses()->ask(lane.value, false, engine_.now());
  }
  if (up_ && owes_pause_frame()) {
    link_->advance(engine_.now());
    const Instant free = link_->line().busy_until();
    if (free <= engine_.now()) {
      send_pause_frame();
    } else {
      schedule_pause_timer(free);
    }
    set_wake();
  }
  schedule_resumes();
}

void Port::set_pause_storm(std::uint8_t priorities) {
  CHECK(has_pauses_);
  const std::uint8_t ended = extras_->pause_storm & static_cast<std::uint8_t>(~priorities);
  extras_->pause_storm = priorities;
  extras_->has_stormed = true;
  buffer_->groups()->settle(engine_.now());
  for (std::uint32_t rest = asked_pauses() & ended; rest != 0; rest &= rest - 1) {
    const ib::VirtualLane lane = lowest_of(rest);
    if (!buffer_->groups()->has_room_again(buffer_->group_of(number_, lane))) continue;
    link_->pauses()->ask(lane.value, false, engine_.now());
  }
  for (std::uint32_t rest = priorities; rest != 0; rest &= rest - 1)
    link_->pauses()->ask(lowest_of(rest).value, true, engine_.now());
  schedule_pause_timer(engine_.now());
}

const char* Port::pause_name() const {
  if (extras_ != nullptr && extras_->has_stormed)
    return "output: paused by the far end, which had a pause storm";
  return buffer_->has_shared_memory() ? "output: paused by the far end, whose shared buffer is full"
                                      : "output: paused by the far end";
}

void Port::set_watchdog(const WatchdogParams& params) {
  CHECK(has_pauses_ && params.detection > Duration(0) && params.restoration > Duration(0));
  extras_->watchdog = std::make_unique<PauseWatchdog>(params);
  has_watchdog_ = true;
}

void Port::note_pauses() {
  PauseWatchdog& watchdog = *extras_->watchdog;
  link_->take_frames(engine_.now(),
                     [&](const PauseFrame& frame) { watchdog.note_paused(frame.paused, frame.effective); });
  watchdog.end_storms(engine_.now());
  ignored_pauses_ = watchdog.ignored_pauses();
  for (std::uint32_t rest = watchdog.take_ended(); rest != 0; rest &= rest - 1)
    tracer_.record(id_, TraceEvent::kPauseWatchdog, lowest_of(rest).value, 0);
}

Instant Port::next_storm() const {
  Instant next = kNever;
  for (std::uint32_t rest = out_.waiting() & link().lossless_lanes; rest != 0; rest &= rest - 1) {
    const ib::VirtualLane lane = lowest_of(rest);
    next = std::min(next, extras_->watchdog->deadline(lane.value, out_.head_since(lane)));
  }
  return next;
}

bool Port::begin_storms() {
  note_pauses();
  PauseWatchdog& watchdog = *extras_->watchdog;
  bool any = false;
  for (std::uint32_t rest = out_.waiting() & link().lossless_lanes; rest != 0; rest &= rest - 1) {
    const ib::VirtualLane lane = lowest_of(rest);
    if (watchdog.deadline(lane.value, out_.head_since(lane)) > engine_.now()) continue;
    any = true;
    watchdog.begin_storm(lane.value);
    tracer_.record(id_, TraceEvent::kPauseWatchdog, lane.value, 1);
    if ((watchdog.dropping() >> lane.value & 1) == 0) continue;
    count_wait();
    while (!out_.is_empty(lane)) lose(*out_.take_first(lane, engine_.now()), DropReason::kPauseWatchdog);
    show_queue(lane);
  }
  ignored_pauses_ = watchdog.ignored_pauses();
  return any;
}

bool Port::is_stormed(ib::VirtualLane lane) {
  note_pauses();
  return lane != kManagementLane && (extras_->watchdog->dropping() >> lane.value & 1) != 0;
}

void Port::schedule_pause_timer(Instant when) {
  Timer& timer = *extras_->pause_timer;
  if (!timer.scheduled() || when < timer.when()) timer.reschedule_at(when);
}

void Port::schedule_resumes() {
  for (std::uint32_t rest = asked_pauses() & ~extras_->pause_storm; rest != 0; rest &= rest - 1) {
    const Instant next = buffer_->groups()->next_release(buffer_->group_of(number_, lowest_of(rest)));
    if (next != kNever) schedule_pause_timer(next);
  }
}

void Port::send_pause_frame() {
  const PauseFrame frame = link_->send_pause_frame();
  const auto enabled = static_cast<std::uint8_t>(frame.paused | frame.changed);
  if (!tracer_.shows_packets())
    return tracer_.record(id_, TraceEvent::kPauseFrame, enabled, frame.paused, link().pause_quanta);
  // The source address is locally administered and has the port's component number, so that a capture shows
  // the sending port. Receivers ignore it.
  constexpr std::uint64_t kLocal = 0x0200'0000'0000;
  const ib::MacAddress source{kLocal | id_.value};
  const ib::PacketPtr bytes = ib::make_pause_frame(source, enabled, frame.paused, link().pause_quanta);
  tracer_.record_packet(id_, TraceEvent::kPauseFrame, enabled, frame.paused, link().pause_quanta, 0, *bytes,
                        id_);
}

std::uint8_t Port::paused_lanes() {
  if (!has_pauses_) return 0;
  take_grants(ib::VirtualLane{0});
  return link_->pauses()->paused();
}

}  // namespace verbatim::fabric
