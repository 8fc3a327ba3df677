// Mistakes of programs that this library sees (protocol/checks.h): nothing here changes what a call does or how long it takes.
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
// 0 where there is no simulation.
inline std::uint32_t own_virtual_tid() { return verbatim_thread_slot == nullptr ? 0 : verbatim_thread_slot->virtual_tid; }

inline bool is_checked(protocol::Check check) { return (shim::checks() & check_bit(check)) != 0; }

bool has_translated_regions();

// Notes a mistake in the call that returns to `caller`.
__attribute__((format(printf, 3, 4), cold)) void found(protocol::Check check, std::uint64_t caller, const char* format, ...);

// The same of a work request that was posted from there. The place is where `frames` lead (protocol::VerbNote), and what lies at
// `private_at` must be private.
__attribute__((format(printf, 5, 6), cold)) void found_of_request(protocol::Check check, std::uint64_t posted,
                                                                  std::uint64_t private_at,
                                                                  const std::uint64_t (&frames)[protocol::kMostNoteFrames],
                                                                  const char* format, ...);

// A process uses a queue of a device that `opener` has opened, which it is a copy of. Noted once in each process.
__attribute__((cold)) void check_copy(std::uint32_t opener, const char* verb, const char* kind, std::uint32_t number,
                                      std::uint64_t caller);

// Keeps where the verb was called from whose frame this is: it begins with its caller's frame pointer, where callers have
// such. Of a poll nothing.
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
// Where the poll was called that has come through POLL_ENTRY last; 0 where there is no simulation.
std::uint64_t poll_caller();

// Tells where the verb was called that was entered last, for whoever wants to know.
__attribute__((cold)) void tell_place(protocol::PlacedCall call, std::uint32_t context, std::uint32_t number,
                                      std::uint64_t wr_id);
inline bool tells_places() { return (shim::checks() & protocol::kTellsPlaces) != 0; }

// Of a verb that may take long, whose frame this is.
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

// Keeps that the thread is in a verb that may take long, as long as it is.
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
// Work requests [first, end) of the queue are in the ring.
void note_sends(Qp& qp, std::uint32_t first, std::uint32_t end, std::uint64_t caller);
// The program is about to get a completion that gives back all up to `to`: their buffers must not have changed.
void check_sends(Qp& qp, std::uint32_t to);
// Room for the notes of a ring of receives, if anybody wants them.
PostNote* allocate_notes(std::uint32_t entries);
// Where the adapter finds them; 0: it need not look at receives.
std::uint64_t notes_for_adapter(const PostNote* notes);
// Receives [first, end) of the queue are in the ring.
void note_receives(ReceiveQueue& queue, std::uint32_t first, std::uint32_t end);
// The program is about to get the completion of that one (`is_polled`), or nobody ever will.
void end_receive(ReceiveQueue& queue, std::uint32_t number, std::uint32_t qp_number, bool is_polled);
// The program is about to get the completion of the first receive of that queue pair since it left RESET.
__attribute__((cold)) void check_first_receive(Qp& qp);
// A poll that was called from there is about to return these, of which the bits of `failed` have failed.
__attribute__((cold)) void check_failed(const ibv_wc* completions, int count, std::uint64_t failed, std::uint64_t caller);
// There is no room for work request `number`. Is there any whose completion makes some?
void check_full(Qp& qp, std::uint32_t number, std::uint64_t caller);
// A region has been made whose addresses in work requests are not those of the program: buffers are not looked at any more.
void note_translated_region();

// Who has used an object last, of which the program has promised that one thread at a time does.
struct SingleUse {
  bool is_promised;
  std::uint32_t thread;  // virtual id; 0: nobody
  std::int64_t begin_ps, end_ps;
};
// A call that uses such an object: the other thread's call must not take place at the same virtual time.
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
