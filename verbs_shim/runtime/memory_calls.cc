#include "verbs_shim/runtime/memory_calls.h"

#include <asm/prctl.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "verbs_shim/protocol/passing_calls.h"
#include "verbs_shim/runtime/descriptors.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/huge_pages.h"
#include "verbs_shim/runtime/memory_watch.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

constexpr unsigned long kPage = 4096;

int registered_barriers = 0;  // per process; a forked copy inherits them

unsigned long whole_pages(unsigned long size) { return (size + kPage - 1) & ~(kPage - 1); }

constexpr long kHugeFileFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB | 0x3fl << 26;

// The call trapped because of its address range, and may pass with these arguments.
bool passes(long number, const long (&a)[6]) {
  const protocol::PassingCall& call = *protocol::passing_call(static_cast<std::uint64_t>(number));
  for (std::uint8_t i = 0; i < call.count; ++i) {
    if (call.values[i] == static_cast<std::uint32_t>(a[call.argument])) return true;
  }
  return false;
}

// Whether the machine has huge pages, page merging or swap is hidden from programs.
long advise(const long (&a)[6]) {
  const auto start = static_cast<unsigned long>(a[0]), size = whole_pages(static_cast<unsigned long>(a[1]));
  const auto advice = static_cast<int>(a[2]);
  constexpr int kDontNeedLocked = 24, kCollapse = 25, kSoftOffline = 101;  // missing from some headers
  switch (advice) {
    case MADV_FREE: {  // whether the old content is still read would depend on the machine's free memory
      const long found = native(SYS_madvise, a[0], a[1], MADV_FREE);
      return found < 0 ? found : native(SYS_madvise, a[0], a[1], MADV_DONTNEED);
    }
    case MADV_POPULATE_READ:
    case MADV_POPULATE_WRITE:
      return native(SYS_madvise, a[0], a[1], a[2]);
    case kDontNeedLocked:
      return native(SYS_madvise, a[0], a[1], MADV_DONTNEED);
    case MADV_MERGEABLE:
    case MADV_UNMERGEABLE:
    case MADV_HUGEPAGE:
    case MADV_NOHUGEPAGE:
    case MADV_COLD:
    case MADV_PAGEOUT:
    case kCollapse:
      if (start % kPage != 0 || start + size < start) return -EINVAL;
      return size == 0 ? 0 : mapped(start, size);
    case MADV_HWPOISON:  // a page of the machine would be lost
    case kSoftOffline:
      return refuse_argument(SYS_madvise, advice, EPERM);
    default:
      return refuse_argument(SYS_madvise, advice, EINVAL);
  }
}

// Every mapped page is reported as resident.
long report_resident(const long (&a)[6]) {
  const auto start = static_cast<unsigned long>(a[0]), size = whole_pages(static_cast<unsigned long>(a[1]));
  if (start % kPage != 0) return -EINVAL;
  if (start + size < start) return -ENOMEM;
  const long found = size == 0 ? 0 : mapped(start, size);
  if (found != 0) return found;
  unsigned char present[256];
  for (unsigned char& one : present) one = 1;
  for (unsigned long done = 0, pages = size / kPage; done < pages;) {
    const unsigned long n = pages - done < sizeof present ? pages - done : sizeof present;
    if (!copy_bytes(reinterpret_cast<void*>(static_cast<unsigned long>(a[2]) + done), present, n)) return -EFAULT;
    done += n;
  }
  return 0;
}

// One thread runs at a time, and giving the token away is a barrier: only the registrations matter.
long barrier(const long (&a)[6]) {
  constexpr int kRegistrations = MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED |
                                 MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE;
  constexpr int kAnybodys = MEMBARRIER_CMD_GLOBAL | MEMBARRIER_CMD_GLOBAL_EXPEDITED;
  constexpr int kOfRegistered = MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE;
  const auto command = static_cast<int>(a[0]);
  if (a[1] != 0) return -EINVAL;
  if (command == MEMBARRIER_CMD_QUERY) return kRegistrations | kAnybodys | kOfRegistered;
  if ((command & (command - 1)) != 0) return -EINVAL;
  if ((command & kRegistrations) != 0) return registered_barriers |= command, 0;
  if ((command & kAnybodys) != 0) return 0;
  if ((command & kOfRegistered) == 0) return -EINVAL;
  const int needs = command == MEMBARRIER_CMD_PRIVATE_EXPEDITED ? MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED
                                                                : MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE;
  return (registered_barriers & needs) != 0 ? 0 : -EPERM;
}

// An anonymous file of the process. It takes as little virtual time as mmap.
long create_memory_file(const long (&a)[6]) {
  constexpr long kOrdinary = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const auto flags = static_cast<long>(static_cast<unsigned>(a[1]));
  if ((flags & ~kOrdinary) == 0) return call_with_room(SYS_memfd_create, a);
  if ((flags & MFD_HUGETLB) != 0 && (flags & ~kHugeFileFlags) == 0) {
    spend(costs().system_call_ps);
    return create_huge_file(a);
  }
  return refuse_argument(SYS_memfd_create, flags, EINVAL);
}

// Reserves the addresses if nothing is mapped there.
bool take(unsigned long address, unsigned long size) {
  constexpr long kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  return native(SYS_mmap, address, size, PROT_NONE, kFlags, -1, 0) == static_cast<long>(address);
}

// The first unmapped page behind `at`, which is mapped.
unsigned long end_of_mapped(unsigned long at) {
  unsigned long step = kPage;
  for (; mapped(at, step) == 0; step *= 2) at += step;
  for (; step > kPage; step /= 2) {
    if (mapped(at, step / 2) == 0) at += step / 2;
  }
  return at;
}

// Reserves the lowest free range in the second GiB, where Linux places MAP_32BIT mappings without address
// randomization. 0: there is none.
unsigned long take_low_room(unsigned long hint, unsigned long size) {
  constexpr unsigned long kBegin = 0x4000'0000, kEnd = 0x8000'0000, kLowest = 0x1'0000;  // vm.mmap_min_addr
  if (size > kEnd) return 0;
  unsigned long wanted = hint & ~(kPage - 1);
  if (wanted != 0 && wanted < kLowest) wanted = kLowest;
  if (wanted != 0 && wanted <= kEnd - size && take(wanted, size)) return wanted;
  for (unsigned long at = kBegin; at < kEnd && size <= kEnd - at; at = end_of_mapped(at)) {
    if (take(at, size)) return at;
    while (at < kEnd && mapped(at, kPage) != 0) at += kPage;
  }
  return 0;
}

}  // namespace

bool maps_low(long number, const long (&a)[6]) {
  constexpr long kElsewhere = MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_HUGETLB;
  return number == SYS_mmap && (a[3] & MAP_32BIT) != 0 && (a[3] & kElsewhere) == 0 && a[1] != 0;
}

long map_low(const long (&a)[6]) {
  const unsigned long size = whole_pages(static_cast<unsigned long>(a[1]));
  const unsigned long at = size == 0 ? 0 : take_low_room(static_cast<unsigned long>(a[0]), size);
  if (at == 0) return -ENOMEM;
  const long there = map_code(SYS_mmap, {static_cast<long>(at), a[1], a[2], (a[3] & ~MAP_32BIT) | MAP_FIXED, a[4], a[5]});
  if (there != static_cast<long>(at)) native(SYS_munmap, at, size);
  return there;
}

long mapped(unsigned long start, unsigned long size) { return native(SYS_msync, start, size, MS_ASYNC); }

long refuse_argument(long number, long value, long error) {
  return exchange(protocol::Request::kSystemCall, protocol::kRefusedArgumentCall, {number, value, error, 0, 0, 0});
}

long refuse_own_memory(long number) {
  return exchange(protocol::Request::kSystemCall, protocol::kRefusedArgumentCall, {number, 0, EINVAL, 1, 0, 0});
}

void report_machine_error(long number, long result) {
  switch (-result) {
    case ENOSPC:
    case EDQUOT:
    case EIO:
    case ENFILE:
    case ENOMEM:
      exchange(protocol::Request::kMachine, static_cast<std::uint32_t>(number), {-result, 0, 0, 0, 0, 0});
      break;
    default:
      break;
  }
}

void report_failed_mapping(long size, long error) {
  exchange(protocol::Request::kMachine, SYS_mmap, {error, size, 0, 0, 0, 0});
}

long call_by_argument(long number, const long (&a)[6]) {
  switch (number) {
    case SYS_madvise:
      if (touches_shim(static_cast<unsigned long>(a[0]), static_cast<unsigned long>(a[1]))) {
        return refuse_own_memory(number);
      }
      if (!trapped_only_by_watch_filter(number, a)) spend(costs().system_call_ps);
      return passes(number, a) ? native(number, a[0], a[1], a[2]) : advise(a);
    case SYS_arch_prctl: {
      constexpr int kShadowStackStatus = 0x3001, kShadowStackFeatures = 0x5005;  // queried at every start of the C library
      const auto option = static_cast<int>(a[0]);
      if (option == ARCH_SET_FS) return set_storage_base(a[1]);
      if (option == kShadowStackStatus || option == kShadowStackFeatures) return -EINVAL;
      if (option == ARCH_GET_CPUID) return 1;
      return refuse_argument(number, option, option == ARCH_SET_CPUID ? ENODEV : EINVAL);
    }
    default:
      return refuse_argument(number, static_cast<unsigned>(a[1]), EINVAL);
  }
}

long memory_call(long number, const long (&a)[6]) {
  if (number == SYS_memfd_create) return create_memory_file(a);
  spend(costs().system_call_ps);
  switch (number) {
    case SYS_mincore:
      return report_resident(a);
    case SYS_membarrier:
      return barrier(a);
    case SYS_pkey_alloc:  // the processor that programs see has no protection keys
      return a[0] != 0 || (a[1] & ~3l) != 0 ? -EINVAL : -ENOSPC;
    default:  // pkey_free
      return -EINVAL;
  }
}

}  // namespace verbatim::shim
