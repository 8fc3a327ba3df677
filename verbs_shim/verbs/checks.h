// Detection of program errors in this library (protocol/checks.h). A check changes neither the result nor the
// virtual time of a call.
#pragma once

#include <cstdint>

#include "verbs_shim/protocol/checks.h"
#include "verbs_shim/protocol/post_notes.h"
#include "verbs_shim/protocol/rings.h"
#include "verbs_shim/runtime/runtime.h"
#include "verbs_shim/verbs/verbs_api.h"

namespace verbatim::verbs {

struct Qp;
struct ReceiveQueue;

inline std::uint64_t address_of(void* caller) { return reinterpret_cast<std::uint64_t>(caller); }
// 0 outside a simulation.
inline std::uint32_t own_virtual_tid() { return verbatim_thread_slot == nullptr ? 0 : verbatim_thread_slot->virtual_tid; }

inline bool is_checked(protocol::Check check) { return (shim::checks() & check_bit(check)) != 0; }

bool has_translated_regions();

// Notes an error in the call that returns to `caller`.
__attribute__((format(printf, 3, 4), cold)) void found(protocol::Check check, std::uint64_t caller, const char* format, ...);

// Notes an error in a work request that was posted at `posted`. Its place is derived from `frames`
// (protocol::VerbNote). If `private_at` is not 0, nothing is reported unless the mapping there is private.
__attribute__((format(printf, 5, 6), cold)) void found_of_request(protocol::Check check, std::uint64_t posted,
                                                                  std::uint64_t private_at,
                                                                  const std::uint64_t (&frames)[protocol::kMostNoteFrames],
                                                                  const char* format, ...);

// This process, a forked copy, uses a queue of a device that process `opener` has opened. Noted once per
// process.
__attribute__((cold)) void check_copy(std::uint32_t opener, const char* verb, const char* kind, std::uint32_t number,
                                      std::uint64_t caller);

// Stores the call site of a verb, for reports. `frame` is the verb's frame: it begins with its caller's frame
// pointer, if callers keep one. Polls store none.
inline void enter_verb(void* caller, void* frame) {
  if (verbatim_thread_slot == nullptr) return;
  verbatim_thread_slot->verb_caller = address_of(caller);
  verbatim_thread_slot->verb_frame = *static_cast<const std::uint64_t*>(frame);
  verbatim_thread_slot->verb_stack = address_of(frame) + 2 * sizeof(std::uint64_t);
}
#define VERBATIM_ENTER_VERB() ::verbatim::verbs::enter_verb(__builtin_return_address(0), __builtin_frame_address(0))
inline void enter_poll() {
  if (verbatim_thread_slot != nullptr) verbatim_thread_slot->verb_caller = 0;
}
// Call site of the last poll that was entered by POLL_ENTRY; 0 outside a simulation.
std::uint64_t poll_caller();

// Reports the call site of the last entered verb, if call sites are traced (kReportsPlaces).
__attribute__((cold)) void report_place(protocol::PlacedCall call, std::uint32_t context, std::uint32_t number,
                                        std::uint64_t wr_id);
inline bool reports_places() { return (shim::checks() & protocol::kReportsPlaces) != 0; }

// The wait description of a verb that may block; `frame` is the verb's frame.
inline protocol::VerbWait wait_in(void* caller, void* frame, protocol::WaitingVerb verb, std::uint32_t number = 0,
                                  std::uint32_t taker = 0) {
  return {.verb = verb,
          .number = number,
          .taker = taker,
          .caller = address_of(caller),
          .stack = address_of(frame) + 2 * sizeof(std::uint64_t),
          .frame = *static_cast<const std::uint64_t*>(frame)};
}
#define VERBATIM_WAIT_IN(...) \
  ::verbatim::verbs::wait_in(__builtin_return_address(0), __builtin_frame_address(0), __VA_ARGS__)

// Scope in which the thread is in a verb that may block.
class VerbScope {
 public:
  explicit VerbScope(const protocol::VerbWait& wait) {
    if (verbatim_thread_slot != nullptr) verbatim_thread_slot->verb_wait = wait;
  }
  ~VerbScope() {
    if (verbatim_thread_slot != nullptr) verbatim_thread_slot->verb_wait.verb = protocol::WaitingVerb::kNone;
  }
  VerbScope(const VerbScope&) = delete;
  VerbScope& operator=(const VerbScope&) = delete;
};

using protocol::PostNote;
// Work requests [first, end) have been written to the ring.
void note_sends(Qp& qp, std::uint32_t first, std::uint32_t end, std::uint64_t caller);
// The program is about to get the completion that releases all requests before `to`: their buffers must be
// unchanged.
void check_sends(Qp& qp, std::uint32_t to);
// Allocates the notes of a receive ring, if an enabled check needs them; else nullptr.
PostNote* allocate_notes(std::uint32_t entries);
// Address of the notes for the adapter; 0: the adapter does not check receives.
std::uint64_t notes_for_adapter(const PostNote* notes);
// Receives [first, end) have been written to the ring.
void note_receives(ReceiveQueue& queue, std::uint32_t first, std::uint32_t end);
// The program is about to get the completion of receive `number` (`is_polled`), or the completion is
// discarded.
void end_receive(ReceiveQueue& queue, std::uint32_t number, std::uint32_t qp_number, bool is_polled);
// The program is about to get the completion of the first receive of the queue pair since it left RESET.
__attribute__((cold)) void check_first_receive(Qp& qp);
// The poll called at `caller` is about to return `completions`; bit i of `failed` marks a failed one.
__attribute__((cold)) void check_failed(const ibv_wc* completions, int count, std::uint64_t failed, std::uint64_t caller);
// The send queue has no room for work request `number`. Checks that some outstanding request is signaled.
void check_full(Qp& qp, std::uint32_t number, std::uint64_t caller);
// Work requests name a region by addresses other than the program's: buffers are no longer examined.
void note_translated_region();

// Last use of an object that the program has promised to use from one thread at a time.
struct SingleUse {
  bool is_promised;
  std::uint32_t thread;  // virtual id; 0: none
  std::int64_t begin_ps, end_ps;
};
// A call that uses such an object. Calls of two threads must not overlap in virtual time.
class UseScope {
 public:
  UseScope(SingleUse& use, const char* kind, std::uint32_t number, std::uint64_t caller) : use_(use) {
    if (use.is_promised) [[unlikely]] enter(kind, number, caller);
  }
  ~UseScope() {
    if (kind_ != nullptr) [[unlikely]] leave();
  }
  UseScope(const UseScope&) = delete;
  UseScope& operator=(const UseScope&) = delete;

 private:
  void enter(const char* kind, std::uint32_t number, std::uint64_t caller);
  void leave();

  SingleUse& use_;
  SingleUse before_{};
  const char* kind_ = nullptr;
  std::uint32_t number_ = 0;
  std::uint64_t caller_ = 0;
  std::int64_t begin_ps_ = 0;
};

}  // namespace verbatim::verbs
