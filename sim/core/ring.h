// A FIFO in one block of memory, which grows to the largest number of elements ever held and is not shrunk:
// a steady flow allocates nothing. The owner may lend the first block, so that a short ring shares the
// owner's cache lines.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "sim/core/check.h"
#include "sim/core/prefetch.h"

namespace verbatim {

template <class T>
class Ring {
 public:
  Ring() = default;
  // `lent` must outlive the ring; such a ring cannot be moved. Its size is a power of two.
  template <std::size_t kCount>
  explicit Ring(std::array<T, kCount>& lent) : slots_(lent.data()), mask_(kLent | (kCount - 1)) {
    static_assert(std::has_single_bit(kCount));
  }
  Ring(Ring&& other) noexcept { *this = std::move(other); }
  Ring& operator=(Ring&& other) noexcept {
    CHECK(!is_lent() && !other.is_lent());
    std::swap(slots_, other.slots_);
    std::swap(mask_, other.mask_);
    std::swap(first_, other.first_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Ring() { free_slots(); }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  // Prefetches the first element (`prefetch.h`), if its memory is not lent.
  void prefetch_front() const {
    if (!is_lent()) prefetch_lines(slots_ + first_, 0, 1);
  }
  T& front() { return slots_[first_]; }
  const T& front() const { return slots_[first_]; }
  // Element `index` from the front.
  T& operator[](std::size_t index) { return slots_[(first_ + index) & mask_]; }
  const T& operator[](std::size_t index) const { return slots_[(first_ + index) & mask_]; }

  // `value` may be an element of another ring, not of this one.
  void push_back(T&& value) {
    extend() = std::move(value);
  }
  void push_back(const T& value) { push_back(T(value)); }

  // Appends an element and returns it, with the old content of its place, for the caller to overwrite.
  T& extend() {
    if (size_ == capacity()) grow();
    return slots_[(first_ + size_++) & mask_];
  }

  // As extend() if the ring is empty or `value_is_last(last element)`, which says whether the new element
  // sorts after it; else returns null and changes nothing.
  template <class IsLast>
  T* extend_if(IsLast value_is_last) {
    if (size_ > 0 && !value_is_last((*this)[size_ - 1])) [[unlikely]] return nullptr;
    return &extend();
  }

  // Inserts after every element that `value` is not before. Elements mostly arrive in order, so the search
  // starts at the back. Returns the index from the front.
  template <class Before>
  std::size_t insert_sorted(T&& value, Before before) {
    if (size_ == capacity()) grow();
    std::size_t place = size_;
    while (place > 0 && before(value, (*this)[place - 1])) {
      (*this)[place] = std::move((*this)[place - 1]);
      --place;
    }
    (*this)[place] = std::move(value);
    ++size_;
    return place;
  }

  T pop_front() {
    T value = std::move(front());
    drop_front();
    return value;
  }

  // As pop_front(), but the element keeps its content until its place is reused. A ring that becomes empty
  // starts again at its first place, so that a short ring uses few cache lines.
  void drop_front() {
    CHECK(size_ > 0);
    first_ = --size_ == 0 ? 0 : (first_ + 1) & mask_;
  }

  void pop_back() {
    CHECK(size_ > 0);
    --size_;
    slots_[(first_ + size_) & mask_] = T{};
  }

 private:
  // Bit of mask_: the owner has lent the memory; no index has this bit.
  static constexpr std::uint32_t kLent = std::uint32_t{1} << 31;
  static constexpr std::uint32_t kNoPlaces = ~std::uint32_t{0};

  // A power of two, or 0 before the first element.
  std::uint32_t capacity() const { return (mask_ + 1) & ~kLent; }
  bool is_lent() const { return mask_ != kNoPlaces && (mask_ & kLent) != 0; }
  void free_slots() {
    if (!is_lent()) delete[] slots_;
  }
  void grow() {
    CHECK(capacity() < std::uint32_t{1} << 30);
    const std::uint32_t larger_capacity = capacity() == 0 ? 8 : capacity() * 2;
    T* const larger = new T[larger_capacity]();
    for (std::uint32_t i = 0; i < size_; ++i) larger[i] = std::move((*this)[i]);
    free_slots();
    slots_ = larger;
    mask_ = larger_capacity - 1;
    first_ = 0;
  }

  T* slots_ = nullptr;
  std::uint32_t mask_ = kNoPlaces;  // mask of indices, and kLent
  std::uint32_t first_ = 0;
  std::uint32_t size_ = 0;
};
static_assert(sizeof(Ring<int>) == 24);

}  // namespace verbatim
