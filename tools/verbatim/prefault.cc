#include "tools/verbatim/prefault.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "sim/core/sanitizer.h"

namespace verbatim::cli {

namespace {

constexpr std::uintptr_t kPage = 4096;

// Errors are ignored: then pages are mapped at their first use.
void populate(std::uintptr_t begin, std::uintptr_t end, int advice) {
  begin &= ~(kPage - 1);
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, advice);
}

// Maps code and constants of the executable or a library.
int populate_code(dl_phdr_info* object, std::size_t, void*) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    populate(begin, begin + part.p_memsz, MADV_POPULATE_READ);
  }
  return 0;
}

std::uintptr_t heap_begin = 0;  // approximate
constexpr int kPiece = 2 << 20;  // step by which the heap grows

}  // namespace

void prefault() {
  if (kHasAddressSanitizer) return;
  dl_iterate_phdr(populate_code, nullptr);
  // Little memory has been allocated before main.
  heap_begin = reinterpret_cast<std::uintptr_t>(sbrk(0)) - (128 << 10);
  // Heap of the simplest runs; more is added in large pieces.
  constexpr std::size_t kHeap = 1280 << 10;
  mallopt(M_TOP_PAD, kPiece);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  mallopt(M_MMAP_THRESHOLD, 8 << 20);  // keeps memory of spin proofs, which is freed and reused
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  void* volatile grows = std::malloc(127 << 10);  // makes the heap grow by a piece
  std::free(grows);
  if (reinterpret_cast<std::uintptr_t>(sbrk(0)) > end + kHeap) populate(end, end + kHeap, MADV_POPULATE_WRITE);
}

void use_huge_pages(std::uint64_t bytes) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;  // limit of malloc's settings
  if (kHasAddressSanitizer) return;
  const auto wanted = static_cast<int>(std::min(bytes, kMost));
  const auto begin = reinterpret_cast<std::uintptr_t>(sbrk(0));
  // All of it at once, and none is returned to the kernel.
  mallopt(M_TOP_PAD, wanted);
  mallopt(M_TRIM_THRESHOLD, wanted + (64 << 20));
  void* volatile grows = std::malloc(kPiece + (127 << 10));
  std::free(grows);
  mallopt(M_TOP_PAD, kPiece);
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  const std::uintptr_t first = begin & ~(kPage - 1);
  if (end > first) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

void prefault_in_child() {
  if (heap_begin == 0) return;
  dl_iterate_phdr(populate_code, nullptr);
  constexpr std::uintptr_t kMost = 4 << 20;
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  populate(heap_begin, std::min(end, heap_begin + kMost), MADV_POPULATE_WRITE);
}

}  // namespace verbatim::cli
