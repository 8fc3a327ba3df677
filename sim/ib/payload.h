// Payload bytes: gathered once by a DMA read, then shared and immutable. Buffers are reference-counted and
// pooled, as each packet needs one. A simulation runs in one thread, so the count is a plain integer, and
// each thread has its own pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "sim/core/check.h"

namespace verbatim::ib {

class PayloadBuffer {
 public:
  PayloadBuffer() = default;
  // `size` uninitialised bytes.
  static PayloadBuffer allocate(std::uint32_t size);
  static PayloadBuffer copy_of(std::span<const std::byte> bytes);

  PayloadBuffer(const PayloadBuffer& other) : block_(other.block_) {
    if (block_ != nullptr) ++block_->references;
  }
  PayloadBuffer(PayloadBuffer&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  PayloadBuffer& operator=(PayloadBuffer other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~PayloadBuffer() {
    if (block_ != nullptr && --block_->references == 0) release(block_);
  }

  explicit operator bool() const { return block_ != nullptr; }
  std::uint32_t size() const { return block_ == nullptr ? 0 : block_->size; }
  std::span<const std::byte> bytes() const {
    return block_ == nullptr ? std::span<const std::byte>() : std::span(block_->data(), block_->size);
  }
  // Writable bytes, for the creator of the buffer, before it is shared.
  std::span<std::byte> fill() {
    CHECK(block_ != nullptr && block_->references == 1);
    return {block_->data(), block_->size};
  }

 private:
  struct alignas(16) Block {
    std::uint32_t references;
    std::uint32_t size;
    std::uint32_t capacity;
    Block* next_free;
    std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
  };
  static void release(Block* block);
  friend class PayloadPool;

  Block* block_ = nullptr;
};

// Traffic of a work source has a length and no buffer: nothing is gathered, copied or placed, and the payload
// is written as zeros (captures, ICRC).
struct Payload {
  PayloadBuffer buffer;
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
  bool has_bytes() const { return length == 0 || buffer; }
  // Requires has_bytes(). Code that may handle a work source's packets must check first; a program's queue
  // pair never receives one, as its peer belongs to a program, too.
  std::span<const std::byte> bytes() const {
    CHECK(has_bytes());
    return buffer.bytes().subspan(offset, length);
  }
};

}  // namespace verbatim::ib
