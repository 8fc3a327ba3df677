// System calls by which a program that waits asks the same again and again: is there a byte, an event, a connection.
#pragma once

#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>

#include "verbs_shim/protocol/system_calls.h"

namespace verbatim::protocol {

// Of so many different calls that found nothing a thread knows the answers, each by its place in a list.
inline constexpr std::uint32_t kMostKnownCalls = 4, kAllKnownCalls = (1 << kMostKnownCalls) - 1;

// Bits of the number that comes with Request::kPoll: the thread is in ibv_start_poll(cq, attributes), not in
// ibv_poll_cq(cq, count, completions); it is in sched_yield(), and no completion queue is looked at; behind them, the calls whose
// answers it knows.
inline constexpr std::uint32_t kStartsPoll = 2, kYields = 4, kKnownCallsShift = 8;

// What the supervisor says with an answer (ThreadSlot::repeats): the calls whose known answers are so until the horizon, a bit
// for each place, and behind them the place at which the present call is kept, from 1 on; 0: it is not.
inline constexpr std::uint32_t kKeptAtShift = 8;

// A relative sleep: it finds nothing either, and takes as long whenever it is made.
inline bool is_sleep(std::uint32_t number, const std::int64_t (&arguments)[6]) {
  constexpr std::int64_t kAbsolute = 1;  // TIMER_ABSTIME
  return number == SYS_nanosleep || (number == SYS_clock_nanosleep && (arguments[1] & kAbsolute) == 0);
}

// Whether such a call has found that there is nothing, and changed nothing. It must not have waited, unless it sleeps.
inline bool finds_nothing(std::uint32_t number, const std::int64_t (&arguments)[6], std::int64_t result) {
  const SystemCall& call = system_call(number);
  // Of write a file that is full, or /dev/infiniband/rdma_cm that is asked for an event.
  if (call.has(CallTraits::kEmptyIfEagain)) return result == -EAGAIN;
  if (call.has(CallTraits::kEmptyAtOnce)) return result == 0 && arguments[call.arguments - 1] == 0;
  return call.has(CallTraits::kSleep) && result == 0 && is_sleep(number, arguments);
}

// What such a call reads of the program's memory, in bytes, besides its arguments: a poll its descriptors, a sleep its time, a
// write what is written.
struct CallMemory {
  std::uint64_t address = 0, length = 0;
};
template <class A>
CallMemory memory_of_call(std::uint32_t number, const A (&a)[6]) {
  constexpr std::uint64_t kPollDescriptor = 8, kTimespec = 16;
  switch (number) {
    case SYS_poll:
      return {static_cast<std::uint64_t>(a[0]), static_cast<std::uint64_t>(a[1]) * kPollDescriptor};
    case SYS_write:
      return {static_cast<std::uint64_t>(a[1]), static_cast<std::uint64_t>(a[2])};
    case SYS_nanosleep:
      return {static_cast<std::uint64_t>(a[0]), kTimespec};
    case SYS_clock_nanosleep:
      return {static_cast<std::uint64_t>(a[2]), kTimespec};
    default:
      return {};
  }
}
inline constexpr std::uint64_t kMostCallMemory = 64;  // a call that reads more is asked each time

// Whether two calls of that number ask the same; what is left in the registers of other arguments says nothing.
template <class A, class B>
bool ask_the_same(std::uint32_t number, const A (&a)[6], const B (&b)[6]) {
  const unsigned count = system_call(number).arguments;
  for (unsigned i = 0; i < count; ++i) {
    if (static_cast<std::int64_t>(a[i]) != static_cast<std::int64_t>(b[i])) return false;
  }
  return true;
}

}  // namespace verbatim::protocol
