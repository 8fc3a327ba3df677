// A FIFO of items that each leave at a given time, in non-decreasing order. One timer serves the whole
// line: an item costs one event and, once the ring has grown, no allocation.
#pragma once

#include <utility>

#include "sim/core/engine.h"
#include "sim/core/ring.h"

namespace verbatim {

template <class T>
class DelayLine {
 public:
  using Deliver = void (*)(void* owner, T&& item);

  DelayLine(Engine& engine, ComponentId source, EventClass event_class, void* owner, Deliver deliver)
      : owner_(owner),
        deliver_(deliver),
        timer_(Timer::of<&DelayLine::on_timer>(engine, source, event_class, this)) {}

  // DelayLine<T>::of<&Requester::on_decoded>(engine, id, EventClass::kStage, this); the method takes a T.
  template <auto Method, class Owner>
  static DelayLine of(Engine& engine, ComponentId source, EventClass event_class, Owner* owner) {
    return DelayLine(engine, source, event_class, owner,
                     [](void* p, T&& item) { (static_cast<Owner*>(p)->*Method)(std::move(item)); });
  }

  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  // Time at which the first item leaves; kNever: the line is empty.
  Instant next() const { return items_.empty() ? kNever : items_.front().when; }

  void push(Instant when, T&& item) {
    CHECK(when >= last_);
    last_ = when;
    Entry& entry = items_.extend();
    entry.when = when;
    entry.item = std::move(item);
    if (items_.size() == 1 && !delivering_) timer_.schedule_at(when);
  }

  void push(Instant when, const T& item) { push(when, T(item)); }

  // Calls visit(when, item) for each item that leaves before `limit`, in order.
  template <class Visit>
  void for_each_before(Instant limit, Visit visit) const {
    for (std::size_t i = 0; i < items_.size() && items_[i].when < limit; ++i) visit(items_[i].when, items_[i].item);
  }

  // Delivers the items due by `now` ahead of the line's event, for a caller that must see their effects.
  void deliver_until(Instant now) {
    if (items_.empty() || items_.front().when > now) return;
    timer_.cancel();
    delivering_ = true;
    while (!items_.empty() && items_.front().when <= now) deliver_(owner_, items_.pop_front().item);
    delivering_ = false;
    if (!items_.empty()) timer_.schedule_at(items_.front().when);
  }

 private:
  struct Entry {
    Instant when;
    T item;
  };

  // One item per event: events of higher-priority classes that an item causes at the same instant run
  // before the next item.
  void on_timer() {
    T item = std::move(items_.front().item);
    items_.drop_front();
    delivering_ = true;
    deliver_(owner_, std::move(item));
    delivering_ = false;
    if (!items_.empty()) timer_.schedule_at(items_.front().when);
  }

  void* owner_;
  Deliver deliver_;
  Ring<Entry> items_;
  Instant last_{};
  bool delivering_ = false;
  Timer timer_;
};

}  // namespace verbatim
