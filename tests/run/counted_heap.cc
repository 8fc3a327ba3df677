// Counts allocations by new in `verbatim`: at exit, the largest number of live ones is written to the file
// named by COUNTED_HEAP. It counts allocations, not bytes, because bounded vectors of figures and facts grow
// in bytes until they are full.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> pieces{0}, most{0};

void* take(std::size_t size, std::size_t alignment) {
  void* const piece = alignment == 0
                          ? std::malloc(size)
                          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (piece == nullptr) throw std::bad_alloc();
  const long now = ++pieces;
  for (long before = most; now > before && !most.compare_exchange_weak(before, now);) continue;
  return piece;
}

void give_back(void* piece) {
  if (piece != nullptr) --pieces;
  std::free(piece);
}

// Processes that the simulator makes end without it.
struct AtExit {
  ~AtExit() {
    const char* const path = std::getenv("COUNTED_HEAP");
    std::FILE* const file = path != nullptr ? std::fopen(path, "w") : nullptr;
    if (file == nullptr) return;
    std::fprintf(file, "%ld", most.load());
    std::fclose(file);
  }
} at_exit;

}  // namespace

void* operator new(std::size_t size) { return take(size, 0); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return take(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* piece) noexcept { give_back(piece); }
void operator delete(void* piece, std::size_t) noexcept { give_back(piece); }
void operator delete(void* piece, std::align_val_t) noexcept { give_back(piece); }
void operator delete(void* piece, std::size_t, std::align_val_t) noexcept { give_back(piece); }
