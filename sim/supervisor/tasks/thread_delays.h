// Delays of one thread at its calls, waits and memory accesses: the freedom of a scheduler, as choices of a
// schedule (sim/core/choice.h).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/core/choice.h"
#include "sim/core/engine.h"
#include "verbs_shim/protocol/accesses.h"
#include "verbs_shim/protocol/region.h"

namespace verbatim::supervisor {

// Delays of a thread: an interrupt or a hand-over, 0.2 us to 0.1 ms; rarely a preemption or a page fault that waits
// for a disk, up to 51 ms.
inline constexpr std::uint32_t kRareDelayOctaves = 9, kDelayOctaves = 9 + kRareDelayOctaves;
inline constexpr DelaySite kBeforeCall{"thread-before-call", Duration(200'000), kDelayOctaves, kRareDelayOctaves};
inline constexpr DelaySite kBeforeLocalCall{"thread-before-local-call", Duration(200'000), kDelayOctaves, kRareDelayOctaves};
inline constexpr DelaySite kBeforePost{"thread-before-post", Duration(200'000), kDelayOctaves, kRareDelayOctaves};
inline constexpr DelaySite kBeforeArm{"thread-before-arm", Duration(200'000), kDelayOctaves, kRareDelayOctaves};
inline constexpr DelaySite kBeforeAccess{"thread-before-access", Duration(200'000), kDelayOctaves, kRareDelayOctaves};
// The thread executes loads that follow a store before the store is visible.
inline constexpr std::string_view kStoreBuffer = "thread-before-access/store-buffer";
// All threads of the host stall with the one that has a rare delay at the site.
inline constexpr std::string_view kCallWholeHost = "thread-before-call/whole-host";
inline constexpr std::string_view kLocalCallWholeHost = "thread-before-local-call/whole-host";
inline constexpr std::string_view kPostWholeHost = "thread-before-post/whole-host";
inline constexpr std::string_view kArmWholeHost = "thread-before-arm/whole-host";
inline constexpr std::string_view kAccessWholeHost = "thread-before-access/whole-host";

inline constexpr DelaySite kAfterWait{"thread-after-wait", Duration(200'000), kDelayOctaves, kRareDelayOctaves};

class ThreadDelays {
 public:
  // `source`: the component that makes the choices.
  ThreadDelays(Choices& choices, ComponentId source) : choices_(choices), source_(source) {}

  bool may_occur() const { return choices_.is_free(); }
  // Delay before a call or after a wait, chosen at `site`.
  Duration choose(const DelaySite& site);
  // The choice that caused the last delay, for reports. Cleared by take_late().
  struct Late {
    std::string_view site;
    std::uint64_t occurrence = 0;
  };
  std::optional<Late> take_late() { return std::exchange(was_late_, std::nullopt); }

  // The last delay if all threads of the host stall with it, else zero. Cleared by the call.
  Duration take_stall() { return std::exchange(stall_, Duration::zero()); }

  // Draws ahead the delays of calls that the thread answers itself, and, if `has_accesses`, of memory
  // accesses (protocol/accesses.h). They are identified by their number among those of their kind. The slot
  // gets the number of the next delayed one of each kind; only that one is handed over.
  void draw_ahead(protocol::ThreadSlot& slot, bool has_accesses);
  // Delay of the call that the thread has handed over.
  Duration take_call(protocol::ThreadSlot& slot, protocol::OwnCall kind) {
    const auto i = static_cast<std::size_t>(kind);
    return take(own_calls_[i], slot.calls_until_late[i]);
  }
  // Delay of the access that the thread has handed over. `loads` returns the number of loads that can precede
  // the store which the thread is about to make, if that store may wait in the store buffer. It is called only
  // when the number is needed.
  Duration take_access(protocol::ThreadSlot& slot, protocol::AccessLateness lateness,
                       const std::function<std::size_t()>& loads);
  // Number of these loads that precede the store. 0: the store does not wait.
  std::uint32_t loads_before_store() const { return loads_before_store_; }

 private:
  // Choices of one site, drawn ahead.
  struct Expected {
    const DelaySite& site;
    bool is_drawn = false;
    std::int64_t ahead = 8;    // maximum number of draws at once
    Duration late{};           // of the call for which the slot's count reaches 0
    RareDelays rare{};
    std::uint64_t number = 0;  // occurrence number of that choice
  };
  void draw(Expected& expected, std::int64_t& until_late);
  // A delay that was the last choice at its site begins.
  void note_late(const DelaySite& site, Duration delay, std::uint64_t occurrence);
  Duration take(Expected& expected, std::int64_t& until_late);

  Choices& choices_;
  const ComponentId source_;
  std::array<Expected, protocol::kOwnCallKinds> own_calls_{
      Expected{kBeforeLocalCall}, {kBeforePost}, {kBeforeArm}};
  Expected accesses_{kBeforeAccess};
  // A store in the store buffer: its delay, and the choice that caused it.
  Duration buffered_for_{};
  std::uint32_t loads_before_store_ = 0;
  std::optional<Late> was_buffered_;
  std::map<std::string_view, std::uint64_t> occurrences_;  // number of choices by site
  std::map<std::string_view, RareDelays> rare_;            // by site, of choices that are not drawn ahead
  std::optional<Late> was_late_;
  Duration stall_{};
};

}  // namespace verbatim::supervisor
