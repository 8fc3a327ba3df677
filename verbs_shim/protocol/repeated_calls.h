// System calls that a waiting program repeats to poll for a byte, an event or a connection.
#pragma once

#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>

#include "verbs_shim/protocol/system_calls.h"

namespace verbatim::protocol {

// A thread stores the answers of this many different empty calls, each at an index.
inline constexpr std::uint32_t kMostKnownCalls = 4, kAllKnownCalls = (1 << kMostKnownCalls) - 1;

// Bits of the number in Request::kPoll: kStartsPoll: ibv_start_poll(cq, attributes) instead of
// ibv_poll_cq(cq, count, completions); kYields: sched_yield(), without a completion queue. From
// kKnownCallsShift on: one bit for each call whose answer the thread stores.
inline constexpr std::uint32_t kStartsPoll = 2, kYields = 4, kKnownCallsShift = 8;

// Bits of ThreadSlot::repeats in an answer: one bit for each stored answer that is valid until the horizon.
// From kKeptAtShift on: 1 + the index at which to store this call's answer, or 0.
inline constexpr std::uint32_t kKeptAtShift = 8;

// A relative sleep, which is an empty call with a fixed duration.
inline bool is_sleep(std::uint32_t number, const std::int64_t (&arguments)[6]) {
  constexpr std::int64_t kAbsolute = 1;  // TIMER_ABSTIME
  return number == SYS_nanosleep || (number == SYS_clock_nanosleep && (arguments[1] & kAbsolute) == 0);
}

// True if the call has found nothing and changed nothing. It must not have waited, except for a sleep.
inline bool finds_nothing(std::uint32_t number, const std::int64_t (&arguments)[6], std::int64_t result) {
  const SystemCall& call = system_call(number);
  // For write(2): a full file, or /dev/infiniband/rdma_cm without an event.
  if (call.has(CallTraits::kEmptyIfEagain)) return result == -EAGAIN;
  if (call.has(CallTraits::kEmptyAtOnce)) return result == 0 && arguments[call.arguments - 1] == 0;
  return call.has(CallTraits::kSleep) && result == 0 && is_sleep(number, arguments);
}

// Program memory that the call reads in addition to its arguments: pollfds, the duration of a sleep, the
// bytes of a write, or the header of a recvmsg.
struct CallMemory {
  std::uint64_t address = 0, length = 0;
};
template <class A>
CallMemory memory_of_call(std::uint32_t number, const A (&a)[6]) {
  constexpr std::uint64_t kPollDescriptor = 8, kMessageHeader = 56, kTimespec = 16;
  switch (number) {
    case SYS_poll:
      return {static_cast<std::uint64_t>(a[0]), static_cast<std::uint64_t>(a[1]) * kPollDescriptor};
    case SYS_write:
      return {static_cast<std::uint64_t>(a[1]), static_cast<std::uint64_t>(a[2])};
    case SYS_recvmsg:
      return {static_cast<std::uint64_t>(a[1]), kMessageHeader};
    case SYS_nanosleep:
      return {static_cast<std::uint64_t>(a[0]), kTimespec};
    case SYS_clock_nanosleep:
      return {static_cast<std::uint64_t>(a[2]), kTimespec};
    default:
      return {};
  }
}
inline constexpr std::uint64_t kMostCallMemory = 64;  // bytes; a call that reads more is never repeated locally

// True if two calls of that number have equal arguments; registers beyond its arguments are ignored.
template <class A, class B>
bool ask_the_same(std::uint32_t number, const A (&a)[6], const B (&b)[6]) {
  const unsigned count = system_call(number).arguments;
  for (unsigned i = 0; i < count; ++i) {
    if (static_cast<std::int64_t>(a[i]) != static_cast<std::int64_t>(b[i])) return false;
  }
  return true;
}

}  // namespace verbatim::protocol
