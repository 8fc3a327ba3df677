// futex(2): all operations that the C library uses, including PI locks and robust lists. Priorities have no
// effect: a lock passes to the thread that has waited longest.
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sim/supervisor/kernel/futex_calls.h"
#include "sim/supervisor/spec/kernel_time.h"

namespace verbatim::supervisor {

namespace {

constexpr std::int64_t kLockPi2 = 13;  // FUTEX_LOCK_PI2: FUTEX_LOCK_PI with CLOCK_MONOTONIC

// FUTEX_WAKE_OP: changed() is the new value of the second word, holds() whether its waiters are woken.
std::uint32_t changed(std::uint32_t encoded, std::uint32_t old) {
  std::uint32_t operand = encoded >> 12 & 0xfff;
  const std::uint32_t operation = encoded >> 28;
  if ((operation & FUTEX_OP_OPARG_SHIFT) != 0) operand = 1u << (operand & 31);
  switch (operation & 7) {
    case FUTEX_OP_SET:
      return operand;
    case FUTEX_OP_ADD:
      return old + operand;
    case FUTEX_OP_OR:
      return old | operand;
    case FUTEX_OP_ANDN:
      return old & ~operand;
    default:
      return old ^ operand;
  }
}

bool holds(std::uint32_t encoded, std::uint32_t old_word) {
  const auto old = static_cast<std::int32_t>(old_word);
  const auto operand = static_cast<std::int32_t>(encoded << 20) >> 20;
  switch (encoded >> 24 & 15) {
    case FUTEX_OP_CMP_EQ:
      return old == operand;
    case FUTEX_OP_CMP_NE:
      return old != operand;
    case FUTEX_OP_CMP_LT:
      return old < operand;
    case FUTEX_OP_CMP_LE:
      return old <= operand;
    case FUTEX_OP_CMP_GT:
      return old > operand;
    default:
      return old >= operand;
  }
}

}  // namespace

void wake_futex_word(FutexTable& futexes, Process& process, std::uint64_t address) {
  futexes.wake(FutexTable::key_of(process, address, true), 1, FUTEX_BITSET_MATCH_ANY);
}

namespace {

// Deadline of a wait, or nullopt and -errno. `clock`: the timeout is absolute on this clock; nullopt: it is
// relative.
std::optional<Instant> futex_deadline(CallContext& call, std::uint64_t address,
                                      std::optional<clockid_t> clock, std::int64_t* error) {
  *error = 0;
  if (address == 0) return kNever;
  const auto timeout = call.process.memory().load<timespec>(address);
  if (!timeout) *error = -EFAULT;
  if (timeout && !valid(*timeout)) *error = -EINVAL;
  if (*error != 0) return std::nullopt;
  const std::int64_t ns = clock ? ns_until(*clock, *timeout, call.now(), call.epoch_ns()) : to_ns(*timeout);
  if (ns > 0) return add_ns(call.now(), ns);
  *error = -ETIMEDOUT;
  return std::nullopt;
}

// A retry after sleeping: woken, timed out, or still asleep.
CallOutcome futex_slept(CallContext& call, FutexTable& futexes, bool woken) {
  if (!woken && call.now() < call.deadline())
    return call.wait_for({}, call.deadline(), "futex");
  futexes.forget(call.thread);
  return Answer{woken ? 0 : -ETIMEDOUT};
}

// Passes the lock to the thread that has waited longest, or frees it.
bool pass_lock(FutexTable& futexes, Process& process, std::uint64_t address, const FutexKey& key,
               std::uint32_t flags) {
  bool more;
  Thread* next = futexes.first(key, &more);
  const std::uint32_t word = next == nullptr ? flags : next->tid() | flags | (more ? FUTEX_WAITERS : 0);
  if (!process.memory().store(address, word)) return false;
  futexes.wake(key, 1, FUTEX_BITSET_MATCH_ANY);
  return true;
}

// PI locks: the word holds the owner's thread id.
CallOutcome futex_lock(CallContext& call, FutexTable& futexes, const FutexKey& key, std::int64_t operation) {
  Process& process = call.process;
  const auto address = call.address(0);
  const auto word = process.memory().load<std::uint32_t>(address);
  if (!word) return Answer{-EFAULT};
  const std::uint32_t owner = *word & FUTEX_TID_MASK;
  if (operation == FUTEX_UNLOCK_PI) {
    if (owner != call.thread.tid()) return Answer{-EPERM};
    return Answer{pass_lock(futexes, process, address, key, 0) ? 0 : -EFAULT};
  }
  if (owner == 0) {
    const std::uint32_t taken = call.thread.tid() | (*word & (FUTEX_OWNER_DIED | FUTEX_WAITERS));
    return Answer{process.memory().store(address, taken) ? 0 : -EFAULT};
  }
  if (owner == call.thread.tid()) return Answer{-EDEADLK};
  if (operation == FUTEX_TRYLOCK_PI) return Answer{-EAGAIN};
  std::int64_t error;
  const bool monotonic = operation == kLockPi2 && (call.flags(1) & FUTEX_CLOCK_REALTIME) == 0;
  const auto deadline =
      futex_deadline(call, call.address(3), monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME, &error);
  if (!deadline) return Answer{error};
  if (!process.memory().store(address, *word | FUTEX_WAITERS)) return Answer{-EFAULT};
  futexes.sleep(key, call.thread, FUTEX_BITSET_MATCH_ANY);
  return call.wait_for({}, *deadline, "futex");
}

}  // namespace

CallOutcome sys_futex(CallContext& call, FutexTable& futexes) {
  if (const FutexTable::Sleeper* self = futexes.find(call.thread))
    return futex_slept(call, futexes, self->woken);
  const auto& a = call.arguments;
  Process& process = call.process;
  const auto address = call.address(0), second = call.address(4);
  const std::int64_t operation = a[1] & FUTEX_CMD_MASK;
  const bool shared = (call.flags(1) & FUTEX_PRIVATE_FLAG) == 0;
  const bool real_time = (call.flags(1) & FUTEX_CLOCK_REALTIME) != 0;
  const auto limit = call.as_int(2);
  if (address % 4 != 0) return Answer{-EINVAL};
  const FutexKey key = FutexTable::key_of(process, address, shared);
  // As in Linux, a limit of zero or less wakes one thread, except in the two requests to requeue.
  switch (operation) {
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET: {
      const auto mask = operation == FUTEX_WAKE_BITSET ? call.as_u32(5) : FUTEX_BITSET_MATCH_ANY;
      if (mask == 0) return Answer{-EINVAL};
      if (shared && !process.memory().load<std::uint32_t>(address)) return Answer{-EFAULT};
      return Answer{futexes.wake(key, std::max(limit, 1), static_cast<std::uint32_t>(mask))};
    }
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: {
      const auto mask = operation == FUTEX_WAIT_BITSET ? call.as_u32(5) : FUTEX_BITSET_MATCH_ANY;
      if (mask == 0) return Answer{-EINVAL};
      const auto word = process.memory().load<std::uint32_t>(address);
      if (!word) return Answer{-EFAULT};
      if (*word != call.as_u32(2)) return Answer{-EAGAIN};
      std::optional<clockid_t> clock;
      if (operation == FUTEX_WAIT_BITSET) clock = real_time ? CLOCK_REALTIME : CLOCK_MONOTONIC;
      std::int64_t error;
      const auto deadline = futex_deadline(call, call.address(3), clock, &error);
      if (!deadline) return Answer{error};
      futexes.sleep(key, call.thread, static_cast<std::uint32_t>(mask));
      return call.wait_for({}, *deadline, "futex");
    }
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE: {
      if (limit < 0 || call.as_int(3) < 0) return Answer{-EINVAL};
      if (second % 4 != 0) return Answer{-EINVAL};
      if (shared && !process.memory().load<std::uint32_t>(second)) return Answer{-EFAULT};
      if (operation == FUTEX_CMP_REQUEUE) {
        const auto word = process.memory().load<std::uint32_t>(address);
        if (!word) return Answer{-EFAULT};
        if (*word != call.as_u32(5)) return Answer{-EAGAIN};
      }
      const int woken = futexes.wake(key, limit, FUTEX_BITSET_MATCH_ANY);
      return Answer{woken + futexes.requeue(key, FutexTable::key_of(process, second, shared), call.as_int(3))};
    }
    case FUTEX_WAKE_OP: {
      const auto encoded = call.as_u32(5);
      const auto old = process.memory().load<std::uint32_t>(second);
      if (!old || !process.memory().store(second, changed(encoded, *old))) return Answer{-EFAULT};
      int woken = futexes.wake(key, std::max(limit, 1), FUTEX_BITSET_MATCH_ANY);
      if (holds(encoded, *old)) {
        woken +=
            futexes.wake(FutexTable::key_of(process, second, shared), std::max(call.as_int(3), 1), FUTEX_BITSET_MATCH_ANY);
      }
      return Answer{woken};
    }
    case FUTEX_LOCK_PI:
    case FUTEX_TRYLOCK_PI:
    case FUTEX_UNLOCK_PI:
    case kLockPi2:
      return futex_lock(call, futexes, key, operation);
    default: {
      const std::string name = operation == FUTEX_WAIT_REQUEUE_PI  ? "FUTEX_WAIT_REQUEUE_PI"
                               : operation == FUTEX_CMP_REQUEUE_PI ? "FUTEX_CMP_REQUEUE_PI"
                                                                   : fmt::format("operation {}", operation);
      call.warn("futex " + name +
                " is not simulated; the program got ENOSYS; wait with FUTEX_WAIT_BITSET and lock with "
                "FUTEX_LOCK_PI, as the C library does");
      return Answer{-ENOSYS};
    }
  }
}

// Marks each lock on the robust list of an ending thread and wakes one waiter for it. The list's head was set
// natively and is read from the machine's kernel while the thread still exists.
void release_robust_locks(FutexTable& futexes, Thread& thread) {
  Process& process = thread.process();
  ProcessMemory& memory = process.memory();
  struct Head {
    std::uint64_t next;
    std::int64_t futex_offset;
    std::uint64_t pending;
  };
  void* head_address = nullptr;
  std::size_t size = 0;
  if (syscall(SYS_get_robust_list, thread.native.tid, &head_address, &size) != 0 || head_address == nullptr) return;
  const auto first = reinterpret_cast<std::uint64_t>(head_address);
  const auto head = memory.load<Head>(first);
  if (!head) return;
  const auto mark = [&](std::uint64_t entry) {
    const bool inherits = (entry & 1) != 0;
    const std::uint64_t address =
        (entry & ~std::uint64_t{1}) + static_cast<std::uint64_t>(head->futex_offset);
    const auto word = memory.load<std::uint32_t>(address);
    if (!word || (*word & FUTEX_TID_MASK) != thread.tid()) return;
    const FutexKey key = FutexTable::key_of(process, address, true);
    if (inherits) {
      pass_lock(futexes, process, address, key, FUTEX_OWNER_DIED);
      return;
    }
    memory.store(address, (*word & FUTEX_WAITERS) | FUTEX_OWNER_DIED);
    if ((*word & FUTEX_WAITERS) != 0) futexes.wake(key, 1, FUTEX_BITSET_MATCH_ANY);
  };
  constexpr int kLongestList = 2048;  // ROBUST_LIST_LIMIT
  std::uint64_t entry = head->next;
  for (int i = 0; i < kLongestList && (entry & ~std::uint64_t{1}) != first; ++i) {
    const auto next = memory.load<std::uint64_t>(entry & ~std::uint64_t{1});
    if (entry != head->pending) mark(entry);
    if (!next) break;
    entry = *next;
  }
  if (head->pending != 0) mark(head->pending);
}

}  // namespace verbatim::supervisor
