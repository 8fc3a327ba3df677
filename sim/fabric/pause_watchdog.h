// Watchdog of an output whose link has pauses, after SONiC's pfcwd. It detects a priority that the far end
// pauses without end, as a broken adapter does:
//  - storm: for all of the detection time the priority's queue was not empty, no packet left it, and it was
//    paused;
//  - end of a storm: the priority was not paused for all of the restoration time.
//
// SONiC polls; this model finds a storm exactly when the detection time is over. The end of a storm is
// computed on demand (at the next packet or pause) and costs no event.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "sim/core/time.h"
#include "sim/fabric/priority_flow_control.h"

namespace verbatim::fabric {

// Watchdog settings of a device profile.
struct WatchdogProfile {
  std::string action = "off";  // or one of WatchdogParams::Action: "drop", "forward", "alert"
  Duration detection{200'000'000'000}, restoration{200'000'000'000};

  friend bool operator==(const WatchdogProfile&, const WatchdogProfile&) = default;
};

struct WatchdogParams {
  enum class Action : std::uint8_t {
    kDrop,     // drops queued and newly queued packets until the storm is over
    kForward,  // sends packets in spite of pauses
    kAlert,    // only records the storm
  };
  Duration detection{0};  // > 0
  Duration restoration{0};  // > 0
  Action action = Action::kDrop;
};

// nullopt: the watchdog is off.
inline std::optional<WatchdogParams> watchdog_of(const WatchdogProfile& profile) {
  using enum WatchdogParams::Action;
  if (profile.action == "off") return std::nullopt;
  const WatchdogParams::Action action = profile.action == "drop" ? kDrop : profile.action == "forward" ? kForward : kAlert;
  return WatchdogParams{profile.detection, profile.restoration, action};
}

class PauseWatchdog {
 public:
  explicit PauseWatchdog(const WatchdogParams& params) : params_(params) {}

  // From `when` on these priorities are paused (bit n: priority n). Calls are in order of time.
  void note_paused(std::uint8_t paused, Instant when) {
    end_storms(when);
    for (std::uint32_t changed = paused ^ paused_; changed != 0; changed &= changed - 1) since_[lowest(changed)] = when;
    paused_ = paused;
  }
  // Ends the storms that are over by `now`.
  void end_storms(Instant now) {
    for (std::uint32_t rest = stormed_ & ~paused_; rest != 0; rest &= rest - 1) {
      if (since_[lowest(rest)] + params_.restoration > now) continue;
      stormed_ = static_cast<std::uint8_t>(stormed_ & ~(1u << lowest(rest)));
      ended_ = static_cast<std::uint8_t>(ended_ | 1u << lowest(rest));
    }
  }
  // Priorities whose storms have ended since the last call.
  std::uint8_t take_ended() { return std::exchange(ended_, std::uint8_t{0}); }

  // When a storm begins on a priority whose first packet has been first since `head_since`, if nothing
  // changes; kNever: it is not paused, or has a storm already.
  Instant deadline(std::uint32_t priority, Instant head_since) const {
    if ((paused_ >> priority & 1) == 0 || (stormed_ >> priority & 1) != 0) return kNever;
    return std::max(since_[priority], head_since) + params_.detection;
  }
  void begin_storm(std::uint32_t priority) { stormed_ = static_cast<std::uint8_t>(stormed_ | 1u << priority); }
  // Bit n: priority n has a storm.
  std::uint8_t stormed() const { return stormed_; }
  // Priorities whose packets are dropped, and priorities whose pauses are ignored.
  std::uint8_t dropping() const { return params_.action == WatchdogParams::Action::kDrop ? stormed_ : std::uint8_t{0}; }
  std::uint8_t ignored_pauses() const { return params_.action == WatchdogParams::Action::kForward ? stormed_ : std::uint8_t{0}; }
  bool ends_storms() const { return params_.action != WatchdogParams::Action::kAlert; }

 private:
  static std::uint32_t lowest(std::uint32_t bits) { return static_cast<std::uint32_t>(std::countr_zero(bits)); }

  const WatchdogParams params_;
  std::uint8_t paused_ = 0, stormed_ = 0, ended_ = 0;
  std::array<Instant, kPriorities> since_{};  // start of the present state, paused or not, per priority
};

}  // namespace verbatim::fabric
