// shmat and shmdt. The supervisor keeps the segments and their attach counts; the process maps the memory.
#include "verbs_shim/runtime/shared_segments.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include "verbs_shim/protocol/huge_pages.h"
#include "verbs_shim/protocol/passing_calls.h"
#include "verbs_shim/runtime/descriptors.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/huge_pages.h"
#include "verbs_shim/runtime/memory_calls.h"
#include "verbs_shim/runtime/memory_watch.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

constexpr unsigned long kPage = 4096;

bool is_error(long result) { return result < 0 && result >= -4095; }

long map_file(const long (&a)[6], unsigned long size, unsigned long page, long fd) {
  const unsigned long address = static_cast<unsigned long>(a[1]) & ~(kPage - 1);
  const bool replaces = (a[2] & SHM_REMAP) != 0;
  if (address != 0 && touches_shim(address, size)) return refuse_own_memory(SYS_shmat);
  const long protection = (a[2] & SHM_RDONLY) != 0 ? PROT_READ : PROT_READ | PROT_WRITE;
  const unsigned long fixed = address == 0 ? 0 : replaces ? MAP_FIXED : MAP_FIXED_NOREPLACE;
  const unsigned long flags = MAP_SHARED | fixed;
  if (address % page != 0) return -EINVAL;
  const long there = page == kPage ? native(SYS_mmap, address, size, protection, flags, fd, 0)
                                   : map_aligned(address, size, page, protection, flags, fd);
  if (there == -ENOMEM) report_failed_mapping(static_cast<long>(size), ENOMEM);
  return there == -EEXIST ? -EINVAL : there;
}

}  // namespace

long map_segment(const long (&a)[6], unsigned long size, unsigned long page) {
  if ((page & protocol::kSlowHugePages) != 0) note_slow_huge_pages();
  page &= ~protocol::kSlowHugePages;
  long there;
  {
    const AnyDescriptor any_descriptor;
    const long fd = fetch_passed_file(true);
    if (fd < 0) return -ENOMEM;
    there = map_file(a, size, page, fd);
    native(SYS_close, fd);
  }
  if (is_error(there)) return there;
  if (page != kPage && (a[2] & SHM_RDONLY) == 0) bring_whole_pages(static_cast<unsigned long>(there), size, true);
  const long slow = are_huge_pages_slow() ? static_cast<long>(protocol::kSlowHugePages) : 0;
  const long result = exchange(protocol::Request::kSystemCall, protocol::kAttachedCall, {a[0], there, slow, 0, 0, 0});
  if (is_error(result)) native(SYS_munmap, there, size);
  return result;
}

long unmap_segment(long address, long size, long result) {
  const long unmapped = native(SYS_munmap, address, size);
  if (unmapped == 0) report_segment_gone(static_cast<unsigned long>(address), static_cast<unsigned long>(size));
  return unmapped < 0 ? unmapped : result;
}

}  // namespace verbatim::shim
