// Blocks of the program's heap that it gives back while somebody wants to know of it (runtime.h: watch_heap): free and realloc of
// programs come through here, on their way to those that they would reach without us. Looked at are blocks on pages that
// somebody has named, and of the C library's allocator alone: of another nothing is known but that it goes on. A program that
// brings its own functions of these names never comes here. Nothing is allocated, and the stack is as it was for who comes next.
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
std::uint64_t watched[kWords];  // a bit for each page, by the lower bits of its number
// All of them lie there: where registered memory is mapped by itself, blocks of the heap are passed by with one comparison.
std::uint64_t watched_from = ~0ull, watched_length = 0;

void keep(void*) {}

// To look for it may free what the last look has left, an error in words: that is kept.
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

[[gnu::cold, gnu::noinline]] void tell(std::uint64_t start, std::size_t size, const char* call, const void* frame) {
  if (size == 0 || heap_gone == nullptr) return;
  stack_of_call = reinterpret_cast<std::uint64_t>(frame);
  heap_gone(start, size, call, false);
  stack_of_call = 0;
}

[[gnu::cold, gnu::noinline]] void tell_freed(void* block, const void* frame) {
  tell(reinterpret_cast<std::uint64_t>(block), size_of(block), "free", frame);
}

[[gnu::cold, gnu::noinline]] void* reallocate(Realloc next, void* block, std::size_t size, const void* frame) {
  const auto before = reinterpret_cast<std::uint64_t>(block);
  const std::size_t had = size_of(block);
  void* const now = next(block, size);
  const std::size_t has = now == nullptr ? 0 : size_of(now);
  if (now == nullptr && size != 0) return now;
  if (reinterpret_cast<std::uint64_t>(now) != before) {
    tell(before, had, "realloc", frame);
  } else if (has < had) {
    tell(before + has, had - has, "realloc", frame);
  }
  return now;
}

}  // namespace

void watch_heap(MemoryGone gone, std::uint64_t start, std::uint64_t size) {
  heap_gone = gone;
  if (size == 0) return;
  const std::uint64_t first = start >> kPageBits, last = (start + (size - 1)) >> kPageBits;
  // A block may begin on its region's first page, before the region.
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
  if (is_watched(block)) [[unlikely]] tell_freed(block, __builtin_frame_address(0));
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
