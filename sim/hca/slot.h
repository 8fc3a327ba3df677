// References to objects that may be destroyed while work for them is in progress. A Ref identifies one use of
// a slot: get() returns the object until it is destroyed, then null, also when the slot is used again.
// Packets, DMA transfers and completions of a destroyed object find null and are discarded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "sim/core/check.h"

namespace verbatim::hca {

struct SlotLife {
  std::uint32_t count = 0;  // odd while the slot has an object
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(const SlotLife& life, T* object) : life_(&life), object_(object), count_(life.count) {}

  T* get() const { return life_ != nullptr && life_->count == count_ ? object_ : nullptr; }

 private:
  const SlotLife* life_ = nullptr;
  T* object_ = nullptr;
  std::uint32_t count_ = 0;
};

// Owns objects in slots, which are reused and freed only with the pool. A Ref may outlive its object, not the
// pool.
template <class T>
class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (const auto& slot : slots_) {
      if (slot->life.count % 2 == 1) end(*slot);
    }
  }

  // Constructs T(ref, arguments…) and returns `ref`.
  template <class... Arguments>
  Ref<T> create(Arguments&&... arguments) {
    if (free_.empty()) {
      slots_.push_back(std::make_unique<Slot>());
      free_.push_back(slots_.back().get());
    }
    Slot& slot = *free_.back();
    free_.pop_back();
    ++slot.life.count;
    const Ref<T> ref(slot.life, slot.object());
    ::new (static_cast<void*>(slot.storage)) T(ref, std::forward<Arguments>(arguments)...);
    return ref;
  }

  void destroy(const Ref<T>& ref) {
    T* object = ref.get();
    CHECK(object != nullptr);
    Slot& slot = *reinterpret_cast<Slot*>(reinterpret_cast<std::byte*>(object) - offsetof(Slot, storage));
    end(slot);
    free_.push_back(&slot);
  }

  // Bytes of one slot.
  static constexpr std::size_t bytes_each() { return sizeof(Slot); }

 private:
  struct Slot {
    SlotLife life;
    alignas(T) std::byte storage[sizeof(T)];
    T* object() { return std::launder(reinterpret_cast<T*>(storage)); }
  };

  static void end(Slot& slot) {
    ++slot.life.count;  // first: calls made by the destructor already get null
    slot.object()->T::~T();
  }

  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_;
};

}  // namespace verbatim::hca
