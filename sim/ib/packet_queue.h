// A linked list of packets in order of a time, with the links in the packets: it allocates nothing, and
// access to the first packet touches that packet alone. insert() at the end does not read the last packet,
// which may not be cached.
#pragma once

#include <utility>

#include "sim/core/check.h"
#include "sim/core/time.h"
#include "sim/ib/packet.h"

namespace verbatim::ib {

class PacketQueue {
 public:
  PacketQueue() = default;
  PacketQueue(PacketQueue&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), last_(std::exchange(other.last_, nullptr)), last_time_(other.last_time_) {}
  PacketQueue& operator=(PacketQueue&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
    std::swap(last_time_, other.last_time_);
    return *this;
  }
  ~PacketQueue() {
    while (first_ != nullptr) pop_front();
  }

  bool empty() const { return first_ == nullptr; }
  Packet& front() { return *first_; }
  const Packet& front() const { return *first_; }

  // Inserts before all others, whatever their times. `time` is the packet's.
  void push_front(PacketPtr&& packet, Instant time) {
    packet->next = first_;
    first_ = packet.release();
    if (last_ != nullptr) return;
    last_ = first_;
    last_time_ = time;
  }
  // Inserts a packet after those with an equal or earlier time; time_of(const Packet&) returns the times.
  // Packets mostly arrive in order. Returns whether it is the first.
  template <class TimeOf>
  bool insert(PacketPtr&& packet, TimeOf time_of) {
    const Instant time = time_of(*packet);
    if (first_ != nullptr && time < last_time_) [[unlikely]] return insert_before_last(std::move(packet), time, time_of);
    Packet* const added = packet.release();
    added->next = nullptr;
    const bool is_first = first_ == nullptr;
    (is_first ? first_ : last_->next) = added;
    last_ = added;
    last_time_ = time;
    return is_first;
  }
  PacketPtr pop_front() {
    CHECK(first_ != nullptr);
    PacketPtr packet(first_);
    first_ = packet->next;
    if (first_ == nullptr) last_ = nullptr;
    return packet;
  }
  template <class Visit>
  void visit(Visit visit) const {
    for (const Packet* packet = first_; packet != nullptr; packet = packet->next) visit(*packet);
  }

 private:
  template <class TimeOf>
  bool insert_before_last(PacketPtr&& packet, Instant time, TimeOf time_of) {
    Packet** place = &first_;
    while (time_of(**place) <= time) place = &(*place)->next;
    packet->next = *place;
    *place = packet.release();
    return place == &first_;
  }

  Packet* first_ = nullptr;
  Packet* last_ = nullptr;  // null: the queue is empty
  Instant last_time_{};     // time of last_
};

}  // namespace verbatim::ib
