#include "verbs_shim/runtime/memory_watch.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "verbs_shim/protocol/layout.h"
#include "verbs_shim/runtime/changing_code.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/huge_pages.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/runtime.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

constexpr int kDontNeedLocked = 24;  // missing from some headers

MemoryGone memory_gone = nullptr;

unsigned long whole_pages(long size) { return (static_cast<unsigned long>(size) + 4095) & ~4095ul; }

// The same comparisons as in the filter (filter.cc).
bool may_be_own(long address) {
  const unsigned long high = static_cast<unsigned long>(address) >> 32;
  return high >= (protocol::kShimStart >> 32) - 1 && high < protocol::kShimEnd >> 32;
}
bool is_large(long size) { return static_cast<unsigned long>(size) >> 32 != 0; }

void report_range(unsigned long start, unsigned long end, const char* call, bool shows_shared = false) {
  if (start < end) memory_gone(start, end - start, call, shows_shared);
}

void report_moved(const long (&a)[6], unsigned long there) {
  constexpr long kDontUnmap = 4;  // MREMAP_DONTUNMAP
  const auto start = static_cast<unsigned long>(a[0]);
  const unsigned long before = whole_pages(a[1]), after = whole_pages(a[2]);
  if ((a[3] & MREMAP_FIXED) != 0) report_range(there, there + after, "mremap");
  if (there != start || (a[3] & kDontUnmap) != 0) return report_range(start, start + before, "mremap");
  report_range(start + after, start + before, "mremap");
}

// Whether a call instruction ends at `address`: FF /2 with its addressing bytes, or E8 with four more.
bool follows_call(unsigned long address) {
  constexpr unsigned kLongest = 7;
  unsigned char code[kLongest];
  if (address < kLongest || !copy_bytes(code, reinterpret_cast<const void*>(address - kLongest), kLongest)) return false;
  if (code[kLongest - 5] == 0xe8) return true;
  for (const unsigned length : {2u, 3u, 4u, 6u, 7u}) {
    const unsigned char* const call = code + kLongest - length;
    if (call[0] == 0xff && (call[1] >> 3 & 7) == 2) return true;
  }
  return false;
}

}  // namespace

bool memory_is_watched() { return memory_gone != nullptr; }

bool trapped_only_by_watch_filter(long number, const long (&a)[6]) {
  if (!memory_is_watched() && !has_changing_code()) return false;
  const bool comes_anyway = may_be_own(a[0]) || is_large(a[1]);
  switch (number) {
    case SYS_brk:
      return true;
    case SYS_madvise:
      return !comes_anyway && (a[2] == MADV_DONTNEED || a[2] == MADV_REMOVE);
    case SYS_munmap:
      return !comes_anyway && !has_had_huge_pages();
    case SYS_mremap:
      return !comes_anyway && !is_large(a[2]) && !may_be_own(a[4]) && !has_had_huge_pages();
    default:
      return false;
  }
}

unsigned long end_of_heap() { return static_cast<unsigned long>(native(SYS_brk, 0)); }

void report_memory_gone(long number, const long (&a)[6], long result, unsigned long heap_end) {
  constexpr long kHighestError = -4095;
  if (result < 0 && result >= kHighestError) return;
  const auto start = static_cast<unsigned long>(a[0]);
  switch (number) {
    case SYS_brk:
      return report_range(static_cast<unsigned long>(result), heap_end, "brk");
    case SYS_munmap:
      return report_range(start, start + whole_pages(a[1]), "munmap");
    case SYS_mremap:
      return report_moved(a, static_cast<unsigned long>(result));
    case SYS_mmap:
      if ((a[3] & MAP_FIXED) != 0) report_range(start, start + whole_pages(a[1]), "mmap");
      return;
    case SYS_madvise:
      if (a[2] == MADV_DONTNEED || a[2] == kDontNeedLocked) report_range(start, start + whole_pages(a[1]), "madvise(MADV_DONTNEED)", true);
      if (a[2] == MADV_FREE) report_range(start, start + whole_pages(a[1]), "madvise(MADV_FREE)");
      if (a[2] == MADV_REMOVE) report_range(start, start + whole_pages(a[1]), "madvise(MADV_REMOVE)");
      return;
    default:
      return;
  }
}

void report_segment_gone(unsigned long start, unsigned long size) {
  if (memory_is_watched()) report_range(start, start + size, "shmdt");
}

void watch_memory(MemoryGone gone) {
  if (watch_mappings()) memory_gone = gone;
}

void fill_frames(std::uint64_t (&frames)[protocol::kMostNoteFrames]) {
  for (std::uint64_t& frame : frames) frame = 0;
  const auto* const context = reinterpret_cast<const ucontext_t*>(my_slot->context_address);
  if (stack_of_call == 0 && context == nullptr) return;
  constexpr unsigned kWords = 128;  // words of the stack that are examined
  const auto stack =
      stack_of_call != 0 ? stack_of_call : static_cast<unsigned long>(context->uc_mcontext.gregs[REG_RSP]);
  unsigned found = 0;
  for (unsigned i = 0; i < kWords && found < protocol::kMostNoteFrames; ++i) {
    std::uint64_t word;
    if (!read_program(static_cast<long>(stack + i * sizeof word), word)) return;
    if (follows_call(word)) frames[found++] = word;
  }
}

}  // namespace verbatim::shim
