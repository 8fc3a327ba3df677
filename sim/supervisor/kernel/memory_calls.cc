// Memory policies (set_mempolicy(2)). Every host has one node, which holds all memory. A thread's policy is
// stored and returned; that of mbind(2) is checked only.
#include <linux/mempolicy.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "sim/supervisor/kernel/memory_calls.h"

namespace verbatim::supervisor {

namespace {

constexpr std::int64_t kMostNodeBits = 4096 * 8;

// The program's node mask; nullopt and -errno.
std::optional<std::vector<std::uint64_t>> load_nodes(ProcessMemory& memory, std::int64_t address, std::int64_t bits,
                                                     int* error) {
  std::vector<std::uint64_t> words;
  --bits;  // as Linux counts maxnode
  if (address == 0 || bits <= 0) return words;
  *error = -EINVAL;
  if (bits > kMostNodeBits) return std::nullopt;
  words.resize(static_cast<std::size_t>((bits + 63) / 64));
  *error = -EFAULT;
  if (!memory.read(static_cast<std::uint64_t>(address), std::as_writable_bytes(std::span(words)))) return std::nullopt;
  if (bits % 64 != 0) words.back() &= (1ull << bits % 64) - 1;
  return words;
}

// 0 or -errno of Linux on a host with one node.
int check_policy(std::int64_t mode, bool names_some, bool names_ours) {
  constexpr std::int64_t kFlags = MPOL_F_STATIC_NODES | MPOL_F_RELATIVE_NODES | MPOL_F_NUMA_BALANCING;
  switch (mode & ~kFlags) {
    case MPOL_DEFAULT:
    case MPOL_LOCAL:
      return names_some || (mode & kFlags) != 0 ? -EINVAL : 0;
    case MPOL_PREFERRED:
      return names_some && !names_ours ? -EINVAL : 0;
    case MPOL_BIND:
    case MPOL_INTERLEAVE:
    case MPOL_PREFERRED_MANY:
      return names_ours ? 0 : -EINVAL;
    default:
      return -EINVAL;
  }
}

}  // namespace

CallOutcome sys_memory_policy(CallContext& call) {
  const auto& a = call.arguments;
  ProcessMemory& memory = call.process.memory();
  if (call.number == SYS_get_mempolicy) {
    const std::int64_t flags = a[4];
    const bool allowed = (flags & MPOL_F_MEMS_ALLOWED) != 0, node = (flags & MPOL_F_NODE) != 0,
               address = (flags & MPOL_F_ADDR) != 0;
    if ((flags & ~std::int64_t{MPOL_F_NODE | MPOL_F_ADDR | MPOL_F_MEMS_ALLOWED}) != 0) return Answer{-EINVAL};
    if ((allowed && (node || address)) ||
        (node && !address && call.thread.scheduling.memory_policy != MPOL_INTERLEAVE) ||
        (!address && a[3] != 0)) {
      return Answer{-EINVAL};
    }
    if (a[1] != 0 && (a[2] < 1 || a[2] > kMostNodeBits)) return Answer{-EINVAL};
    const int mode = allowed || node ? 0 : call.thread.scheduling.memory_policy;
    std::vector<std::uint64_t> words(a[1] != 0 ? static_cast<std::size_t>((a[2] - 1 + 63) / 64) : 0);
    if (!words.empty()) words[0] = allowed ? 1 : call.thread.scheduling.memory_nodes;
    const bool stored = (a[0] == 0 || memory.store(call.address(0), mode)) &&
                        (words.empty() || memory.put(call.address(1), std::as_bytes(std::span(words))));
    return Answer{stored ? 0 : -EFAULT};
  }
  const bool of_range = call.number == SYS_mbind;
  const auto* policy = a + (of_range ? 2 : 0);
  constexpr std::int64_t kPage = 4096;
  if (of_range && a[0] % kPage != 0) return Answer{-EINVAL};
  if (of_range && (call.flags(5) & ~std::int64_t{MPOL_MF_STRICT | MPOL_MF_MOVE | MPOL_MF_MOVE_ALL}) != 0)
    return Answer{-EINVAL};
  if (of_range && (call.flags(5) & MPOL_MF_MOVE_ALL) != 0) return Answer{-EPERM};
  int error = 0;
  const auto nodes = load_nodes(memory, policy[1], policy[2], &error);
  if (!nodes) return Answer{error};
  const bool some = std::any_of(nodes->begin(), nodes->end(), [](std::uint64_t word) { return word != 0; });
  const bool ours = !nodes->empty() && (nodes->front() & 1) != 0;
  const int refusal = check_policy(static_cast<std::int32_t>(policy[0]), some, ours);
  if (refusal == 0 && !of_range) {
    call.thread.scheduling.memory_policy = static_cast<int>(policy[0]);
    call.thread.scheduling.memory_nodes = ours ? 1 : 0;
  }
  return Answer{refusal};
}

}  // namespace verbatim::supervisor
