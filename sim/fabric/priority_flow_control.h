// Priority-based flow control of Ethernet (IEEE 802.1Qbb) at one end of a link. A lane is a priority, 0 … 7.
//
//  - Data that leaves: the far end's frames pause priorities and resume them. A frame takes effect when its last byte has arrived
//    and the response time is over; a packet that has started by then is finished.
//  - Data that comes: the port decides which priorities the far end should pause (`ask`). A frame that is due goes ahead of every
//    data packet, but one that falls due in the instant in which a data packet starts goes behind it. Each frame carries the
//    state of all eight priorities, and so reports every change since the one before.
//
// A pause lasts until the far end resumes: its end repeats the frame when half of the time has passed for which the frame asks.
// Those frames take their time on the line, are worked out when somebody asks, and cost no event.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/core/ring.h"
#include "sim/core/time.h"
#include "sim/fabric/channel.h"
#include "sim/fabric/line_clock.h"
#include "sim/fabric/without_credits.h"

namespace verbatim::fabric {

inline constexpr std::uint32_t kPriorities = 8;
// From the destination address to the frame check sequence (IEEE 802.3 31.3).
inline constexpr std::uint32_t kPauseFrameBytes = 64;
// One quantum of a pause is so many bytes of the line's time: 512 bits (IEEE 802.3 31B.2).
inline constexpr std::uint32_t kPauseQuantumBytes = 64;

struct PauseFrame {
  Instant effective;           // at the end that pauses
  std::uint8_t paused = 0;     // bit n: priority n is to be paused
  std::uint8_t changed = 0;    // those that differ from the frame before
  std::uint32_t failures = 0;  // of the link, as its sender has counted them
};

class PriorityFlowControl : public WithoutCredits {
 public:
  // `link` outlives this.
  explicit PriorityFlowControl(const LinkParams& link) : link_(link) {}

  // When a packet of a lane that is otherwise ready at `at` may start, by the frames that are known; kNever:
  // it is paused.
  Instant may_start(std::size_t lane, std::uint32_t, Instant at) const {
    bool is_paused = (paused_ >> lane & 1) != 0;
    for (std::size_t i = 0; i < coming_.size(); ++i) {
      const PauseFrame& frame = coming_[i];
      if (!is_paused && frame.effective > at) return at;
      if (is_paused) at = std::max(at, frame.effective);
      is_paused = (frame.paused >> lane & 1) != 0;
    }
    return is_paused ? kNever : at;
  }
  // A frame has left the far end. They come in the order of their times.
  void add_frame(const PauseFrame& frame) { coming_.push_back(frame); }
  // Frames that have effect by `now`.
  void take_grants(std::size_t, Instant now) {
    take_frames(now, [](const PauseFrame&) {});
  }
  // The same; visit(const PauseFrame&) for each, in the order of their times.
  template <class Visit>
  void take_frames(Instant now, Visit visit) {
    while (!coming_.empty() && coming_.front().effective <= now) {
      const PauseFrame frame = coming_.pop_front();
      visit(frame);
      if (const auto resumed = static_cast<std::uint8_t>(paused_ & ~frame.paused); resumed != 0) {
        resumed_ = resumed;
        resumed_at_ = frame.effective;
      }
      paused_ = frame.paused;
    }
  }
  // When the next frame that has left the far end has effect; kNever: there is none.
  Instant next_effect() const { return coming_.empty() ? kNever : coming_.front().effective; }
  std::uint8_t paused() const { return paused_; }
  // When a lane was resumed last, if no other was behind it; else a time before.
  Instant last_resume(std::size_t lane) const {
    return (resumed_ >> lane & 1) != 0 ? resumed_at_ : Instant{};
  }

  // The far end is to pause a lane, or to resume.
  void ask(std::size_t lane, bool pause, Instant now) {
    const auto bit = static_cast<std::uint8_t>(1u << lane);
    if (((asked_ & bit) != 0) == pause) return;
    asked_ ^= bit;
    if (changed_ == 0) due_ = now;
    changed_ |= bit;
  }
  // Bit n: the far end is asked to pause priority n, by a frame that has left or is due.
  std::uint8_t asked() const { return asked_; }
  // As the last frame has it, but for a lane that has changed twice since.
  std::uint8_t reported() const { return asked_ ^ changed_; }
  // Since when a frame is due that reports a change; kNever: none is.
  Instant frame_due() const { return changed_ == 0 ? kNever : due_; }
  // It leaves now; the line is free.
  PauseFrame send_frame(LineClock& line, Instant now) {
    const Instant arrival = put_on(line, now);
    const PauseFrame frame{arrival + link_.propagation + link_.pause_response, asked_, changed_};
    changed_ = 0;
    return frame;
  }

  // The link has failed: nobody is paused, and frames on it are lost. What is asked for is to be reported
  // again by restart().
  void fail() {
    paused_ = 0;
    changed_ = 0;
    refresh_due_ = kNever;
    while (!coming_.empty()) coming_.drop_front();
  }
  void restart(Instant now) {
    changed_ = asked_;
    due_ = now;
  }

  // Frames that repeat a pause, as the other policies' frames.
  bool is_due(const LineClock& line, Instant now) const { return first_repeat(line) < now; }
  template <class Grant>
  void advance(LineClock& line, Instant now, Grant) {
    if (!is_due(line, now)) return;
    const Instant first = first_repeat(line);
    const std::int64_t further = repeats_behind(first, now);
    sent_ += static_cast<std::uint32_t>(further);
    put_on(line, first + further * refresh_interval());
  }
  Instant data_start(const LineClock& line, Instant at) const {
    at = std::max(at, line.busy_until());
    if (refresh_due_ >= at) return at;
    const Instant first = first_repeat(line);
    LineClock then = line;
    then.begin(first + repeats_behind(first, at) * refresh_interval());
    then.pass(frame_bytes());
    return std::max(at, then.busy_until());
  }
  // Frames that have left.
  std::uint64_t frames_sent() const { return sent_; }

 private:
  Duration refresh_interval() const {
    return link_.byte_time.time_for(std::uint64_t{link_.pause_quanta} * kPauseQuantumBytes) / 2;
  }
  std::uint32_t frame_bytes() const { return link_.bytes_before + kPauseFrameBytes + link_.bytes_after; }
  Instant first_repeat(const LineClock& line) const { return std::max(line.busy_until(), refresh_due_); }
  // Frames that leave before `end` behind one that leaves at `first`, if nothing else does.
  std::int64_t repeats_behind(Instant first, Instant end) const {
    return end > first ? (end - first - Duration(1)) / refresh_interval() : 0;
  }
  // Returns when the last byte of a frame that starts then has left.
  Instant put_on(LineClock& line, Instant start) {
    line.begin(start);
    const Instant end = line.after(link_.bytes_before + kPauseFrameBytes);
    line.pass(frame_bytes());
    refresh_due_ = asked_ == 0 ? kNever : start + refresh_interval();
    ++sent_;
    return end;
  }

  const LinkParams& link_;
  Ring<PauseFrame> coming_;   // by time
  std::uint8_t paused_ = 0;   // of this end, by frames that have had effect
  std::uint8_t resumed_ = 0;  // by the last frame that resumed any
  std::uint8_t asked_ = 0;    // of the far end
  std::uint8_t changed_ = 0;  // since the last frame
  std::uint32_t sent_ = 0;
  Instant due_{};  // since when there are changes
  Instant refresh_due_ = kNever;
  Instant resumed_at_{};
};

static_assert(sizeof(PriorityFlowControl) <= 64);  // it is a part of every port

}  // namespace verbatim::fabric
