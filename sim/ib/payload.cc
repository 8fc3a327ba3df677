#include "sim/ib/payload.h"

#include <cstdlib>
#include <cstring>

#include "sim/core/sanitizer.h"

namespace verbatim::ib {

// Pools for the two frequent sizes: an MTU of 4096 bytes, and small messages.
class PayloadPool {
 public:
  using Block = PayloadBuffer::Block;

  ~PayloadPool() {
    free_all(small_);
    free_all(large_);
  }

  Block* take(std::uint32_t size) {
    const std::uint32_t capacity = size <= kSmall ? kSmall : size <= kLarge ? kLarge : size;
    Block** list = list_of(capacity);
    Block* block = nullptr;
    if (list != nullptr && *list != nullptr) {
      block = *list;
      *list = block->next_free;
    } else {
      block = static_cast<Block*>(std::malloc(sizeof(Block) + capacity));
      CHECK(block != nullptr);
      block->capacity = capacity;
    }
    block->references = 1;
    block->size = size;
    block->next_free = nullptr;
    return block;
  }

  void give_back(Block* block) {
    Block** list = kHasAddressSanitizer ? nullptr : list_of(block->capacity);
    if (list == nullptr) {
      std::free(block);
      return;
    }
    block->next_free = *list;
    *list = block;
  }

 private:
  static constexpr std::uint32_t kSmall = 256;
  static constexpr std::uint32_t kLarge = 4096;

  Block** list_of(std::uint32_t capacity) {
    return capacity == kSmall ? &small_ : capacity == kLarge ? &large_ : nullptr;
  }
  static void free_all(Block* block) {
    while (block != nullptr) std::free(std::exchange(block, block->next_free));
  }

  Block* small_ = nullptr;
  Block* large_ = nullptr;
};

namespace {
thread_local PayloadPool pool;
}

PayloadBuffer PayloadBuffer::allocate(std::uint32_t size) {
  PayloadBuffer buffer;
  buffer.block_ = pool.take(size);
  return buffer;
}

PayloadBuffer PayloadBuffer::copy_of(std::span<const std::byte> bytes) {
  PayloadBuffer buffer = allocate(static_cast<std::uint32_t>(bytes.size()));
  if (!bytes.empty()) std::memcpy(buffer.fill().data(), bytes.data(), bytes.size());
  return buffer;
}

void PayloadBuffer::release(Block* block) { pool.give_back(block); }

}  // namespace verbatim::ib
