// The last few different calls of a thread's current series of calls that found nothing, with their results.
// A thread that polls by such calls repeats them; results that still hold can be given again.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/time.h"
#include "sim/supervisor/files/virtual_file.h"
#include "sim/supervisor/tasks/pending_call.h"
#include "verbs_shim/protocol/repeated_calls.h"

namespace verbatim::supervisor {

// A call that found nothing, with its result, and its sleep, which is the only cost beyond that of any call.
struct EmptyCall {
  PendingCall call;
  std::int64_t result = 0;
  Duration slept{};
  std::vector<std::uint8_t> memory;  // that it read, see protocol::memory_of_call
  std::vector<std::weak_ptr<VirtualFile>> files;
  std::vector<std::uint64_t> generations;
  bool repeats = false;  // the result stays the same as long as the files do not change

  // Whether the result holds.
  bool is_still_empty() const;
};

// Calls whose results still hold, by place; nullptr for the others.
using KnownCalls = std::array<const EmptyCall*, protocol::kMostKnownCalls>;
// One bit for each place with a call.
std::uint32_t known_places(const KnownCalls& known);

class EmptyCalls {
 public:
  bool contains(const PendingCall& call) const { return place_of(call) != calls_.size(); }
  // `call` is answered. `is_empty`: it found nothing and changed nothing; any other call ends the series.
  // Returns true if the series had the same call.
  bool add(const PendingCall& call, bool is_empty);
  // Stores the result of the call that was added last. Returns the places of the calls whose results still
  // hold, and its own place, in the format of ThreadSlot::repeats.
  std::uint32_t keep_result(std::int64_t result, Duration slept, std::vector<std::uint8_t> memory,
                            const std::vector<VirtualFilePtr>& files);
  // The calls at `places` (bits) whose results still hold.
  KnownCalls still_empty(std::uint32_t places) const;

 private:
  std::size_t place_of(const PendingCall& call) const;  // calls_.size(): none

  std::vector<EmptyCall> calls_;
  std::size_t last_ = 0;
  std::size_t oldest_ = 0;
};

}  // namespace verbatim::supervisor
