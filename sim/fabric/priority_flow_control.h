// Ethernet priority-based flow control (IEEE 802.1Qbb) at one end of a link. A lane is a priority, 0 … 7.
//  - Outgoing data: frames of the far end pause and resume priorities. A frame takes effect the response
//    time after its last byte has arrived; a packet that has started by then is finished.
//  - Incoming data: the port decides which priorities the far end should pause (`ask`). A due frame
//    precedes every data packet, but one that becomes due in the instant in which a data packet starts
//    follows it. Each frame carries the state of all eight priorities and thus reports every change since
//    the previous one.
//
// A pause lasts until the far end resumes: this end repeats its frame after half of the time that the frame
// requests. The repeated frames occupy the line, are computed on demand, and cost no event.
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
// Line bytes of one pause quantum: 512 bit times (IEEE 802.3 31B.2).
inline constexpr std::uint32_t kPauseQuantumBytes = 64;

struct PauseFrame {
  Instant effective;           // time of its effect at the paused end
  std::uint8_t paused = 0;     // bit n: priority n is to be paused
  std::uint8_t changed = 0;    // priorities that differ from the previous frame
  std::uint32_t failures = 0;  // sender's count of link failures
};

class PriorityFlowControl : public WithoutCredits {
 public:
  // `link` must outlive this.
  explicit PriorityFlowControl(const LinkParams& link) : link_(link) {}

  // When a packet of a lane that is otherwise ready at `at` may start, by the known frames; kNever: the
  // lane is paused.
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
  // A frame has left the far end. Frames are added in order of time.
  void add_frame(const PauseFrame& frame) { coming_.push_back(frame); }
  // Applies the frames that have taken effect by `now`.
  void take_grants(std::size_t, Instant now) {
    take_frames(now, [](const PauseFrame&) {});
  }
  // The same, with visit(const PauseFrame&) for each frame, in order of time.
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
  // When the next frame of the far end takes effect; kNever: none.
  Instant next_effect() const { return coming_.empty() ? kNever : coming_.front().effective; }
  std::uint8_t paused() const { return paused_; }
  // Time at which a lane was last resumed, if no other lane was resumed since; otherwise an earlier time.
  Instant last_resume(std::size_t lane) const {
    return (resumed_ >> lane & 1) != 0 ? resumed_at_ : Instant{};
  }

  // Requests that the far end pause or resume a lane.
  void ask(std::size_t lane, bool pause, Instant now) {
    const auto bit = static_cast<std::uint8_t>(1u << lane);
    if (((asked_ & bit) != 0) == pause) return;
    asked_ ^= bit;
    if (changed_ == 0) due_ = now;
    changed_ |= bit;
  }
  // Bit n: the far end is asked to pause priority n, by a frame that has left or is due.
  std::uint8_t asked() const { return asked_; }
  // State in the last frame, except for lanes that have changed twice since.
  std::uint8_t reported() const { return asked_ ^ changed_; }
  // Time since which a frame with a change has been due; kNever: none.
  Instant frame_due() const { return changed_ == 0 ? kNever : due_; }
  // Sends the frame now; the line must be free.
  PauseFrame send_frame(LineClock& line, Instant now) {
    const Instant arrival = put_on(line, now);
    const PauseFrame frame{arrival + link_.propagation + link_.pause_response, asked_, changed_};
    changed_ = 0;
    return frame;
  }

  // The link has failed: all pauses end, and frames on it are lost. restart() reports this end's requests
  // again.
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

  // Repeated pause frames; functions as in the other policies.
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
  // Number of repeated frames after the one at `first` that leave before `end`, if no other frame does.
  std::int64_t repeats_behind(Instant first, Instant end) const {
    return end > first ? (end - first - Duration(1)) / refresh_interval() : 0;
  }
  // Returns when the last byte of a frame that starts at `start` has left.
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
  std::uint8_t paused_ = 0;   // priorities paused at this end, by frames in effect
  std::uint8_t resumed_ = 0;  // priorities resumed by the last frame that resumed any
  std::uint8_t asked_ = 0;    // priorities that the far end should pause
  std::uint8_t changed_ = 0;  // since the last frame
  std::uint32_t sent_ = 0;
  Instant due_{};  // since when a change has been due
  Instant refresh_due_ = kNever;
  Instant resumed_at_{};
};

static_assert(sizeof(PriorityFlowControl) <= 64);  // it is part of every port

}  // namespace verbatim::fabric
