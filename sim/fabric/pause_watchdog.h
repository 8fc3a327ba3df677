// The watchdog of an output whose link has pauses, as SONiC's pfcwd has it. It looks for a priority whose far end pauses
// without end, as a broken adapter does:
//
//  - storm: the queue of the priority is not empty, nothing has left it and it was paused for all of the detection time;
//  - end of a storm: the priority was not paused for all of the restoration time.
//
// SONiC polls; here a storm is found at the picosecond in which the detection time is over. The end of a storm is computed when
// somebody asks (a packet comes, or a pause), and costs no event.
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

// As a device profile gives it.
struct WatchdogProfile {
  std::string action = "off";  // or one of WatchdogParams::Action: "drop", "forward", "alert"
  Duration detection{200'000'000'000}, restoration{200'000'000'000};

  friend bool operator==(const WatchdogProfile&, const WatchdogProfile&) = default;
};

struct WatchdogParams {
  enum class Action : std::uint8_t {
    kDrop,     // packets of the queue, and those that come to it, are dropped until the storm is over
    kForward,  // they leave as if nothing paused them
    kAlert,    // nothing but the record
  };
  Duration detection{0};  // above zero, as the next
  Duration restoration{0};
  Action action = Action::kDrop;
};

// Nothing: it is off.
inline std::optional<WatchdogParams> watchdog_of(const WatchdogProfile& profile) {
  using enum WatchdogParams::Action;
  if (profile.action == "off") return std::nullopt;
  const WatchdogParams::Action action = profile.action == "drop" ? kDrop : profile.action == "forward" ? kForward : kAlert;
  return WatchdogParams{profile.detection, profile.restoration, action};
}

class PauseWatchdog {
 public:
  explicit PauseWatchdog(const WatchdogParams& params) : params_(params) {}

  // From `when` on these priorities are paused (bit n: priority n). Calls come in the order of time.
  void note_paused(std::uint8_t paused, Instant when) {
    end_storms(when);
    for (std::uint32_t changed = paused ^ paused_; changed != 0; changed &= changed - 1) since_[lowest(changed)] = when;
    paused_ = paused;
  }
  // Storms that are over by `now` end.
  void end_storms(Instant now) {
    for (std::uint32_t rest = stormed_ & ~paused_; rest != 0; rest &= rest - 1) {
      if (since_[lowest(rest)] + params_.restoration > now) continue;
      stormed_ = static_cast<std::uint8_t>(stormed_ & ~(1u << lowest(rest)));
      ended_ = static_cast<std::uint8_t>(ended_ | 1u << lowest(rest));
    }
  }
  // Those that have ended since the last call.
  std::uint8_t take_ended() { return std::exchange(ended_, std::uint8_t{0}); }

  // When there is a storm on a priority whose first packet has been the first since `head_since`, if nothing changes; kNever:
  // it is not paused, or there is one.
  Instant deadline(std::uint32_t priority, Instant head_since) const {
    if ((paused_ >> priority & 1) == 0 || (stormed_ >> priority & 1) != 0) return kNever;
    return std::max(since_[priority], head_since) + params_.detection;
  }
  void begin_storm(std::uint32_t priority) { stormed_ = static_cast<std::uint8_t>(stormed_ | 1u << priority); }
  // Bit n: there is a storm on priority n.
  std::uint8_t stormed() const { return stormed_; }
  // Priorities whose packets are dropped, and those whose pauses have no effect.
  std::uint8_t dropping() const { return params_.action == WatchdogParams::Action::kDrop ? stormed_ : std::uint8_t{0}; }
  std::uint8_t ignored_pauses() const { return params_.action == WatchdogParams::Action::kForward ? stormed_ : std::uint8_t{0}; }
  bool ends_storms() const { return params_.action != WatchdogParams::Action::kAlert; }

 private:
  static std::uint32_t lowest(std::uint32_t bits) { return static_cast<std::uint32_t>(std::countr_zero(bits)); }

  const WatchdogParams params_;
  std::uint8_t paused_ = 0, stormed_ = 0, ended_ = 0;
  std::array<Instant, kPriorities> since_{};  // since when a priority has been paused, or has not been
};

}  // namespace verbatim::fabric
