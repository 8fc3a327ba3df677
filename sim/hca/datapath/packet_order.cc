#include "sim/hca/datapath/packet_order.h"

#include <bit>
#include <utility>

#include "sim/core/check.h"
#include "sim/ib/opcode.h"
#include "sim/ib/segmentation.h"

namespace verbatim::hca {

PacketOrder::PacketOrder(Engine& engine, ComponentId component, const ReorderProfile& profile, Listener& listener)
    : engine_(engine),
      profile_(profile),
      listener_(listener),
      timer_(Timer::of<&PacketOrder::on_timer>(engine, component, EventClass::kTimeout, this)) {
  CHECK(profile.window > 0);
}

void PacketOrder::start(ib::Psn next, std::uint32_t mtu) {
  CHECK(count_ == 0);
  next_ = next;
  mtu_ = mtu;
}

PacketOrder::Place PacketOrder::place(const ib::Packet& packet, std::optional<ib::Psn> expected) {
  const ib::Psn psn = packet.bth.psn;
  const std::int32_t ahead = distance(next_, psn);
  if (ahead > 0 && static_cast<std::uint32_t>(ahead) < profile_.window) {
    return count_ > 0 && held_[slot(psn)] != nullptr ? Place::kAgain : Place::kAhead;
  }
  const bool goes_back = ahead < 0 && expected == psn;
  if (ahead == 0 || goes_back) {
    next_ = psn;
    advance(packet);
  }
  return goes_back ? Place::kBack : Place::kTurn;
}

void PacketOrder::hold(ib::PacketPtr packet) {
  if (held_.empty()) held_.resize(std::bit_ceil(profile_.window));
  const std::size_t at = slot(packet->bth.psn);
  CHECK(held_[at] == nullptr);
  held_[at] = std::move(packet);
  if (++count_ == 1) watch_gap();
}

ib::PacketPtr PacketOrder::take_turn() {
  if (count_ == 0) return nullptr;
  ib::PacketPtr& next = held_[slot(next_)];
  if (next == nullptr || next->bth.psn != next_) return nullptr;
  --count_;
  ib::PacketPtr packet = std::move(next);
  advance(*packet);
  return packet;
}

ib::PacketPtr PacketOrder::take_any() {
  if (count_ == 0) return nullptr;
  std::uint32_t ahead = 0;
  while (held_[slot(next_ + ahead)] == nullptr) ++ahead;
  if (--count_ == 0) timer_.cancel();
  return std::move(held_[slot(next_ + ahead)]);
}

// IBA 9.7.3.2.2: a READ takes the PSNs of its response.
void PacketOrder::advance(const ib::Packet& packet) {
  const bool is_read = ib::operation_of(packet.bth.opcode) == ib::Operation::kReadRequest;
  next_ = next_ + (is_read ? ib::packet_count(packet.reth.length, mtu_) : 1);
  watch_gap();
}

void PacketOrder::watch_gap() {
  timer_.cancel();
  if (count_ > 0) timer_.schedule_at(engine_.now() + profile_.gap_time);
}

void PacketOrder::on_timer() {
  if (ib::PacketPtr packet = take_any()) listener_.on_old_gap(std::move(packet));
}

}  // namespace verbatim::hca
