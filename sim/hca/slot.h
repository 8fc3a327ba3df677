// Objects that come and go while work for them is under way. A Ref names one life of a slot: it gives the
// object while that life lasts and nothing afterwards, so a packet, a DMA transfer or a completion on its way
// to an object that is destroyed meanwhile ends there.
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
  std::uint32_t count = 0;  // odd while an object lives
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

// Slots are used again, and freed only with the pool: a Ref may outlive every life of its slot, not the pool.
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

  // Constructs T(ref, arguments…), where `ref` is what is returned.
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

  // Memory of one object, in use or not.
  static constexpr std::size_t bytes_each() { return sizeof(Slot); }

 private:
  struct Slot {
    SlotLife life;
    alignas(T) std::byte storage[sizeof(T)];
    T* object() { return std::launder(reinterpret_cast<T*>(storage)); }
  };

  static void end(Slot& slot) {
    ++slot.life.count;  // first: what the destructor sets off finds nobody
    slot.object()->T::~T();
  }

  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_;
};

}  // namespace verbatim::hca
