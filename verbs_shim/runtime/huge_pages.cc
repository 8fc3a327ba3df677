// Emulation of huge pages by ordinary memory with their alignment. A program can distinguish huge pages only
// by addresses, errors, and its host's pool. Each such mapping is in a list, so that the rules of
// mm/hugetlb.c apply when a mapping is changed.
#include "verbs_shim/runtime/huge_pages.h"

#include <errno.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <time.h>

#include <new>

#include "verbs_shim/protocol/huge_pages.h"
#include "verbs_shim/runtime/descriptors.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/memory_calls.h"
#include "verbs_shim/runtime/path.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

using protocol::HugePageStep;
using protocol::kHugePageSize;

constexpr unsigned long kPage = 4096;
constexpr unsigned kSizeShift = 26, kSizeMask = 0x3f;  // MAP_HUGE_SHIFT and MFD_HUGE_SHIFT

struct HugeRange {
  unsigned long start, end;
  unsigned kind;
  bool counted;                   // against the pool, for this process
  unsigned long device, inode;    // the file's; 0: private memory of the process
  HugeRange* next;
};
HugeRange* ranges = nullptr;
bool watches = false;
bool has_slow_pages = false;

unsigned long page_of(const HugeRange& range) { return kHugePageSize[range.kind]; }
unsigned long align_up(unsigned long value, unsigned long to) { return (value + to - 1) & ~(to - 1); }
bool is_error(long result) { return result < 0 && result >= -4095; }

// Page kind for the log2 of the size in `flags`, 0: the default size; false: there are no pages of that size.
bool kind_of(unsigned long flags, unsigned& kind) {
  const unsigned logarithm = flags >> kSizeShift & kSizeMask;
  kind = 0;
  if (logarithm == 0) return true;
  for (; kind < protocol::kHugePageKinds; ++kind) {
    if (kHugePageSize[kind] == 1ul << logarithm) return true;
  }
  return false;
}

long ask(HugePageStep step, unsigned kind, unsigned long pages, unsigned long device = 0, unsigned long inode = 0) {
  return exchange(protocol::Request::kSystemCall, protocol::kHugePagesCall,
                  {static_cast<long>(step), kind, static_cast<long>(pages), static_cast<long>(device),
                   static_cast<long>(inode), 0});
}

void add_range(unsigned long start, unsigned long end, const HugeRange& like) {
  void* const memory = verbatim::shim::allocate(sizeof(HugeRange));
  ranges = new (memory) HugeRange{start, end, like.kind, like.counted, like.device, like.inode, ranges};
}

bool overlaps(const HugeRange& range, unsigned long start, unsigned long end) {
  return range.start < end && start < range.end;
}

// Whether [start, end) cuts mappings of huge pages only at page boundaries.
bool cuts_well(unsigned long start, unsigned long end) {
  for (const HugeRange* range = ranges; range != nullptr; range = range->next) {
    if (!overlaps(*range, start, end)) continue;
    const unsigned long page = page_of(*range);
    if ((start > range->start && start % page != 0) || (end < range->end && end % page != 0)) return false;
  }
  return true;
}

// Removes [start, end), which has been unmapped, from the list. The list is complete before ask() gives pages
// back, because other threads may run then.
void forget(unsigned long start, unsigned long end, bool gives_back = true) {
  HugeRange* gone = nullptr;
  for (HugeRange** at = &ranges; *at != nullptr;) {
    HugeRange* const range = *at;
    if (!overlaps(*range, start, end)) {
      at = &range->next;
      continue;
    }
    *at = range->next;
    if (range->start < start) add_range(range->start, start, *range);
    if (range->end > end) add_range(end, range->end, *range);
    range->start = range->start < start ? start : range->start;
    range->end = range->end > end ? end : range->end;
    range->next = gone;
    gone = range;
    at = &ranges;
  }
  while (gone != nullptr) {
    HugeRange* const range = gone;
    gone = range->next;
    bool still = false;
    for (const HugeRange* other = ranges; other != nullptr; other = other->next) {
      still |= other->counted && other->device == range->device && other->inode == range->inode;
    }
    if (gives_back && range->counted) {
      if (range->inode == 0) {
        ask(HugePageStep::kGive, range->kind, (range->end - range->start) / page_of(*range));
      } else if (!still) {
        ask(HugePageStep::kGiveFile, range->kind, 0, range->device, range->inode);
      }
    }
    verbatim::shim::release(range);
  }
}

// Maps at the address that Linux would choose, a multiple of the page size.
long place(unsigned long hint, unsigned long size, unsigned long page, long protection, unsigned long flags, long fd,
           long offset) {
  constexpr unsigned long kSizeBits = static_cast<unsigned long>(kSizeMask) << kSizeShift;
  constexpr unsigned long kNotNatively = MAP_HUGETLB | MAP_POPULATE | MAP_LOCKED | kSizeBits;
  const unsigned long kept = (flags & ~kNotNatively) | MAP_NORESERVE;
  if ((flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0) return native(SYS_mmap, hint, size, protection, kept, fd, offset);
  if (hint != 0) {
    const unsigned long wanted = align_up(hint, page);
    const long there = native(SYS_mmap, wanted, size, protection, kept | MAP_FIXED_NOREPLACE, fd, offset);
    if (there == static_cast<long>(wanted)) return there;
  }
  const long room = native(SYS_mmap, 0, size + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (is_error(room)) return room;
  const unsigned long first = static_cast<unsigned long>(room), start = align_up(first, page);
  const long there = native(SYS_mmap, start, size, protection, kept | MAP_FIXED, fd, offset);
  if (is_error(there)) {
    native(SYS_munmap, first, size + page);
    return there;
  }
  if (start > first) native(SYS_munmap, first, start - first);
  if (const unsigned long tail = first + page - start; tail > 0) native(SYS_munmap, start + size, tail);
  return there;
}

// Whether at least half of the machine's memory is free.
bool has_much_memory() {
  struct sysinfo machine = {};
  return native(SYS_sysinfo, &machine) == 0 && machine.freeram > machine.totalram / 2;
}

// Duration of `work` in the machine's time. It influences nothing but how long the run takes.
template <typename Work>
unsigned long nanoseconds_of(Work&& work) {
  struct timespec before = {}, after = {};
  native(SYS_clock_gettime, CLOCK_MONOTONIC, &before);
  work();
  native(SYS_clock_gettime, CLOCK_MONOTONIC, &after);
  return static_cast<unsigned long>((after.tv_sec - before.tv_sec) * 1'000'000'000 + after.tv_nsec - before.tv_nsec);
}

// Linux extends the file to the length of a writable mapping.
void lengthen(long fd, long protection, unsigned long size) {
  struct stat status = {};
  if ((protection & PROT_WRITE) == 0 || native(SYS_fstat, fd, &status) != 0) return;
  if (static_cast<unsigned long>(status.st_size) < size) native(SYS_ftruncate, fd, size);
}

long map_pages(const long (&a)[6], unsigned kind, bool of_file) {
  const unsigned long page = kHugePageSize[kind], hint = static_cast<unsigned long>(a[0]);
  const unsigned long size = align_up(static_cast<unsigned long>(a[1]), page), offset = static_cast<unsigned long>(a[5]);
  const auto flags = static_cast<unsigned long>(a[3]);
  const bool is_fixed = (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
  if (a[1] == 0) return -EINVAL;
  if (size == 0 || size >= 1ul << 47) return -ENOMEM;
  if (is_fixed && hint % page != 0) return -EINVAL;
  if (of_file && offset % page != 0) return -EINVAL;
  const bool shares_file = of_file && (flags & MAP_TYPE) != MAP_PRIVATE;
  HugeRange range = {0, 0, kind, (flags & MAP_NORESERVE) == 0, 0, 0, nullptr};
  if (shares_file) {
    struct stat status = {};
    native(SYS_fstat, a[4], &status);
    range.device = status.st_dev;
    range.inode = status.st_ino;
  }
  if (!watches) watches = watch_mappings();
  if (is_fixed && !cuts_well(hint, hint + size)) return -ENOMEM;
  if (range.counted) {
    const long taken = shares_file ? ask(HugePageStep::kTakeFile, kind, (offset + size) / page, range.device, range.inode)
                                   : ask(HugePageStep::kTake, kind, size / page);
    if (taken != 0) return taken;
  }
  if (of_file) lengthen(a[4], a[2], offset + size);
  const long there = place(hint, size, page, a[2], flags, a[4], a[5]);
  if (is_error(there)) {
    if (range.counted && !shares_file) ask(HugePageStep::kGive, kind, size / page);
    if (there == -ENOMEM) report_failed_mapping(static_cast<long>(size), ENOMEM);
    return there;
  }
  const auto start = static_cast<unsigned long>(there);
  if (is_fixed) forget(start, start + size);
  add_range(start, start + size, range);
  if (!of_file && (a[2] & PROT_WRITE) != 0) bring_whole_pages(start, size, (a[3] & MAP_SHARED) != 0);
  return there;
}

long remap_huge(const HugeRange& range, const long (&a)[6]) {
  const unsigned long page = page_of(range), start = static_cast<unsigned long>(a[0]), to = static_cast<unsigned long>(a[4]);
  const unsigned long before = align_up(align_up(static_cast<unsigned long>(a[1]), kPage), page);
  const unsigned long after = align_up(align_up(static_cast<unsigned long>(a[2]), kPage), page);
  const auto flags = static_cast<unsigned long>(a[3]);
  constexpr unsigned long kDontUnmap = 4;
  if (start % page != 0 || ((flags & MREMAP_FIXED) != 0 && to % page != 0)) return -EINVAL;
  if (after > before || after == 0 || (flags & kDontUnmap) != 0) return -EINVAL;  // huge pages cannot grow
  if (start + before > range.end) return -EFAULT;
  const HugeRange like = range;
  if (after < before) {
    const long cut = native(SYS_munmap, start + after, before - after);
    if (cut != 0) return cut;
    forget(start + after, start + before);
  }
  if ((flags & MREMAP_FIXED) == 0) return a[0];
  if (!cuts_well(to, to + after)) return -EINVAL;
  const long there = native(SYS_mremap, start, after, after, a[3], to);
  if (is_error(there)) return there;
  forget(start, start + after, false);
  forget(to, to + after);
  add_range(to, to + after, like);
  return there;
}

long remap(const long (&a)[6]) {
  const auto start = static_cast<unsigned long>(a[0]), flags = static_cast<unsigned long>(a[3]);
  const bool is_fixed = (flags & MREMAP_FIXED) != 0;
  const auto to = static_cast<unsigned long>(a[4]), size = static_cast<unsigned long>(a[2]);
  for (const HugeRange* range = ranges; range != nullptr && start % kPage == 0; range = range->next) {
    if (start >= range->start && start < range->end) return remap_huge(*range, a);
  }
  if (is_fixed && !cuts_well(to, to + align_up(size, kPage))) return -EINVAL;
  const long there = native(SYS_mremap, a[0], a[1], a[2], a[3], a[4]);
  if (is_fixed && !is_error(there)) forget(to, to + align_up(size, kPage));
  return there;
}

// Writes "/proc/self/fd/" and the number.
void name_descriptor(char (&name)[32], long fd) {
  memcpy(name, "/proc/self/fd/", 14);
  char digits[20];
  unsigned n = 0;
  do {
    digits[n++] = static_cast<char>('0' + fd % 10);
  } while ((fd /= 10) != 0);
  char* to = name + 14;
  while (n > 0) *to++ = digits[--n];
  *to = 0;
}

bool lies_in_huge_folder(const char* real) {
  const protocol::PathView& view = path_view();
  for (std::uint32_t i = 0; i < view.rows && i < protocol::kMostPathRows; ++i) {
    const protocol::PathRow& row = view.row[i];
    if (strcmp(view.text + row.seen, protocol::kHugeFolder) == 0)
      return protocol::path_is_below(real, view.text + row.real, row.real_length);
  }
  return false;
}

bool kind_of_file(long fd, unsigned& kind) {
  if (fd < 0 || is_virtual_fd(fd)) return false;
  char name[32], target[kPathRoom];
  name_descriptor(name, fd);
  const long length = native(SYS_readlink, name, target, sizeof target - 1);
  if (length <= 0) return false;
  target[length] = 0;
  for (kind = 0; kind < protocol::kHugePageKinds; ++kind) {
    if (strncmp(target, protocol::kHugeFileMark[kind], strlen(protocol::kHugeFileMark[kind])) == 0) return true;
  }
  kind = 0;
  return lies_in_huge_folder(target);
}

}  // namespace

long map_aligned(unsigned long hint, unsigned long size, unsigned long page, long protection, unsigned long flags, long fd) {
  return place(hint, size, page, protection, flags, fd, 0);
}

void bring_whole_pages(unsigned long start, unsigned long size, bool shared) {
  constexpr unsigned long kMost = 64ul << 20;  // many programs touch little of a large mapping
  constexpr unsigned long kWorthATrial = 16ul << 20;
  constexpr unsigned long kHuge = kHugePageSize[0], kSample = kHuge / 16;
  constexpr long kCollapse = 25;  // MADV_COLLAPSE, Linux 6.1 and later
  native(SYS_madvise, start, size, MADV_HUGEPAGE);
  if (!shared || size < kWorthATrial || size > kMost || has_slow_pages || !has_much_memory()) return;
  // Shared memory seldom gets huge pages of the machine on a fault, but MADV_COLLAPSE can provide them. If the
  // machine has free huge pages, a collapse is ten times faster than 4 KiB faults. If a hypervisor has to back
  // them first, each byte costs the same either way, and programs do not touch all of it. The measured time of
  // each collapse decides whether the next one is tried: a slow one is the last of the run (protocol/huge_pages.h).
  const unsigned long by_page = nanoseconds_of([&] { ask_for_pages(start, kSample); }) * (kHuge / kSample);
  for (unsigned long at = start + kHuge; at < start + size; at += kHuge) {
    bool has_collapsed = false;
    const unsigned long took = nanoseconds_of([&] {
      ask_for_pages(at, kPage);  // Linux does not collapse an empty range
      has_collapsed = native(SYS_madvise, at, kHuge, kCollapse) == 0;
    });
    if (!has_collapsed || took > by_page / 2) return note_slow_huge_pages();
  }
}

bool are_huge_pages_slow() { return has_slow_pages; }
void note_slow_huge_pages() { has_slow_pages = true; }

bool map_huge(const long (&a)[6], long& result) {
  const auto flags = static_cast<unsigned long>(a[3]);
  unsigned kind = 0;
  if ((flags & MAP_ANONYMOUS) != 0) {
    if ((flags & MAP_HUGETLB) == 0) return false;
    result = kind_of(flags, kind) ? map_pages(a, kind, false) : -EINVAL;
    return true;
  }
  const bool is_huge = kind_of_file(a[4], kind);
  if (!is_huge && (flags & MAP_HUGETLB) == 0) return false;
  result = is_huge ? map_pages(a, kind, true) : is_virtual_fd(a[4]) || native(SYS_fcntl, a[4], 1) >= 0 ? -EINVAL : -EBADF;
  return true;
}

bool has_had_huge_pages() { return watches; }

long change_mapping(long number, const long (&a)[6]) {
  const auto start = static_cast<unsigned long>(a[0]), size = align_up(static_cast<unsigned long>(a[1]), kPage);
  switch (number) {
    case SYS_munmap: {
      if (start % kPage != 0 || start + size < start) return -EINVAL;
      if (!cuts_well(start, start + size)) return -EINVAL;
      const long result = native(SYS_munmap, a[0], a[1]);
      if (result == 0) forget(start, start + size);
      return result;
    }
    case SYS_mremap:
      return remap(a);
    default: {  // mmap of other memory
      if ((a[3] & MAP_FIXED) == 0 || ranges == nullptr) return native(number, a[0], a[1], a[2], a[3], a[4], a[5]);
      if (!cuts_well(start, start + size)) return -ENOMEM;
      const long result = native(number, a[0], a[1], a[2], a[3], a[4], a[5]);
      if (!is_error(result)) forget(start, start + size);
      return result;
    }
  }
}

long create_huge_file(const long (&a)[6]) {
  const auto flags = static_cast<unsigned long>(a[1]);
  unsigned kind;
  if (!kind_of(flags, kind)) return -EINVAL;
  constexpr std::size_t kLongest = 249;
  const char* const mark = protocol::kHugeFileMark[kind] + sizeof "/memfd:" - 1;
  char name[kLongest + 1] = {};
  std::size_t size = strlen(mark);
  memcpy(name, mark, size);
  for (long from = a[0];; ++from) {
    char letter;
    if (!read_program(from, letter)) return -EFAULT;
    if (letter == 0) break;
    if (static_cast<std::size_t>(from - a[0]) == kLongest) return -EINVAL;
    if (size < kLongest) name[size++] = letter;
  }
  const auto ordinary = static_cast<long>(flags & (MFD_CLOEXEC | MFD_ALLOW_SEALING));
  return call_with_room(SYS_memfd_create, {reinterpret_cast<long>(name), ordinary, 0, 0, 0, 0});
}

unsigned long huge_page_of_file(long fd) {
  unsigned kind;
  return kind_of_file(fd, kind) ? kHugePageSize[kind] : 0;
}

unsigned long huge_page_of_path(const char* path) {
  return protocol::path_is_below(path, protocol::kHugeFolder, strlen(protocol::kHugeFolder)) ? kHugePageSize[0] : 0;
}

void forget_huge_counts() {
  for (HugeRange* range = ranges; range != nullptr; range = range->next) range->counted = false;
}

bool touches_shim(unsigned long start, unsigned long size) {
  const unsigned long end = start + size < start ? ~0ul : start + size;
  return size > 0 && start < protocol::kShimEnd && end > protocol::kShimStart;
}

}  // namespace verbatim::shim
