// Reports heap blocks that the program frees while watch_heap() is active (runtime.h). This file interposes
// free and realloc and calls the functions that the program would reach without it. Only blocks on watched
// pages are examined, and only those of the C library's allocator, because the layout of others is unknown. A
// program that defines free or realloc itself is not observed. Nothing is allocated, and the callee finds the
// stack as the program left it.
#include <dlfcn.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>

#include "verbs_shim/runtime/memory_watch.h"
#include "verbs_shim/runtime/runtime.h"

extern "C" void __libc_free(void*);

namespace verbatim::shim {

namespace {

using Free = void (*)(void*);
using Realloc = void* (*)(void*, std::size_t);

constexpr unsigned kPageBits = 12, kWordBits = 6, kWords = 64;
constexpr std::uint64_t kPages = kWords << kWordBits;

Free next_free = nullptr;
Realloc next_realloc = nullptr;
MemoryGone heap_gone = nullptr;
std::uint64_t watched[kWords];  // one bit per page, indexed by the low bits of its number
// Range that contains all watched pages. If registered memory is mapped separately, one comparison suffices
// for blocks of the heap.
std::uint64_t watched_from = ~0ull, watched_length = 0;

void keep(void*) {}

// dlsym() may free the error text of an earlier call; that memory is leaked.
[[gnu::cold, gnu::noinline]] Free find_free() {
  next_free = &keep;
  Free found = reinterpret_cast<Free>(dlsym(RTLD_NEXT, "free"));
  if (found == nullptr) found = &__libc_free;
  next_free = found;
  return found;
}

[[gnu::cold, gnu::noinline]] Realloc find_realloc() {
  Realloc found = reinterpret_cast<Realloc>(dlsym(RTLD_NEXT, "realloc"));
  next_realloc = found;
  return found;
}

bool is_watched(const void* block) {
  const auto address = reinterpret_cast<std::uint64_t>(block);
  if (address - watched_from >= watched_length) [[likely]]
    return false;
  const std::uint64_t page = address >> kPageBits;
  return (watched[page >> kWordBits & (kWords - 1)] >> (page & ((1u << kWordBits) - 1)) & 1) != 0;
}

std::size_t size_of(void* block) {
  if (block == nullptr || (next_free == nullptr ? find_free() : next_free) != &__libc_free) return 0;
  return malloc_usable_size(block);
}

[[gnu::cold, gnu::noinline]] void report_block(std::uint64_t start, std::size_t size, const char* call, const void* frame) {
  if (size == 0 || heap_gone == nullptr) return;
  stack_of_call = reinterpret_cast<std::uint64_t>(frame);
  heap_gone(start, size, call, false);
  stack_of_call = 0;
}

[[gnu::cold, gnu::noinline]] void report_freed(void* block, const void* frame) {
  report_block(reinterpret_cast<std::uint64_t>(block), size_of(block), "free", frame);
}

[[gnu::cold, gnu::noinline]] void* reallocate(Realloc next, void* block, std::size_t size, const void* frame) {
  const auto before = reinterpret_cast<std::uint64_t>(block);
  const std::size_t had = size_of(block);
  void* const now = next(block, size);
  const std::size_t has = now == nullptr ? 0 : size_of(now);
  if (now == nullptr && size != 0) return now;
  if (reinterpret_cast<std::uint64_t>(now) != before) {
    report_block(before, had, "realloc", frame);
  } else if (has < had) {
    report_block(before + has, had - has, "realloc", frame);
  }
  return now;
}

}  // namespace

void watch_heap(MemoryGone gone, std::uint64_t start, std::uint64_t size) {
  heap_gone = gone;
  if (size == 0) return;
  const std::uint64_t first = start >> kPageBits, last = (start + (size - 1)) >> kPageBits;
  // A block may begin before the region, on the region's first page.
  const std::uint64_t from = first << kPageBits, to = (last + 1) << kPageBits;
  const std::uint64_t end = watched_length == 0 ? to : std::max(to, watched_from + watched_length);
  watched_from = std::min(from, watched_from);
  watched_length = end - watched_from;
  for (std::uint64_t i = 0; i <= last - first && i < kPages; ++i) {
    const std::uint64_t page = first + i;
    watched[page >> kWordBits & (kWords - 1)] |= std::uint64_t{1} << (page & ((1u << kWordBits) - 1));
  }
}

void forget_heap() {
  for (std::uint64_t& word : watched) word = 0;
  watched_from = ~0ull;
  watched_length = 0;
}

}  // namespace verbatim::shim

extern "C" {

VERBATIM_EXPORT void free(void* block) noexcept {
  using namespace verbatim::shim;
  if (is_watched(block)) [[unlikely]] report_freed(block, __builtin_frame_address(0));
  const Free next = next_free;
  (next != nullptr ? next : find_free())(block);
}

VERBATIM_EXPORT void* realloc(void* block, std::size_t size) noexcept {
  using namespace verbatim::shim;
  Realloc next = next_realloc;
  if (next == nullptr) next = find_realloc();
  if (is_watched(block)) [[unlikely]] return reallocate(next, block, size, __builtin_frame_address(0));
  return next(block, size);
}

}  // extern "C"
