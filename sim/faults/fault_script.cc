#include "sim/faults/fault_script.h"

#include <algorithm>

#include "sim/core/check.h"
#include "sim/ib/ecn.h"
#include "sim/ib/packet_trace.h"

namespace verbatim::faults {

namespace {

// Flips a bit of a byte of the payload. The bytes are shared with other packets of the sender and therefore
// copied. A payload without bytes is not changed.
void flip_bit(ib::Payload& payload, std::uint64_t byte) {
  if (payload.length == 0 || !payload.has_bytes()) return;
  const auto bytes = payload.bytes();
  ib::PayloadBuffer buffer = ib::PayloadBuffer::copy_of(bytes);
  buffer.fill()[std::min<std::uint64_t>(byte, bytes.size() - 1)] ^= std::byte{0x10};
  payload = {buffer, 0, payload.length};
}

}  // namespace

FaultScript::FailingEnd::FailingEnd(Engine& engine, const Rule& rule, fabric::Port& port, std::uint64_t* fired)
    : rule(rule),
      port(port),
      fired(fired),
      // After the arrivals of its instant: a packet whose head arrives when the link fails is not lost.
      timer(Timer::of<&FailingEnd::on_time>(engine, port.id(), EventClass::kTimeout, this)) {
  CHECK(rule.down < rule.up);
  timer.schedule_at(rule.down);
}

void FaultScript::add(const Rule& rule, fabric::Port& port, const Rng& random) {
  CHECK(port.connected());
  Entry& entry = entries_.emplace_back(Entry{entries_.size(), rule, port, random});
  if (rule.action == Action::kLinkDown) {
    failing_ends_.emplace_back(engine_, rule, port, &entry.fired);
    failing_ends_.emplace_back(engine_, rule, *port.far_end(), nullptr);
    return;
  }
  if (rule.action == Action::kPauseStorm) {
    storming_ends_.emplace_back(*this, entry);
    return;
  }
  CHECK(rule.selection.first > 0 && rule.selection.every > 0 && rule.burst.packets > 0);
  of_port_[port.id()].push_back(&entry);
  port.set_faults(this);
}

FaultScript::StormingEnd::StormingEnd(FaultScript& script, Entry& entry)
    : script(script),
      entry(entry),
      timer(Timer::of<&StormingEnd::on_time>(script.engine_, entry.port.id(), EventClass::kTimeout, this)) {
  CHECK(entry.rule.down < entry.rule.up);
  timer.schedule_at(entry.rule.down);
}

void FaultScript::StormingEnd::on_time() {
  is_on = !is_on;
  if (is_on) {
    ++entry.fired;
    if (entry.rule.up != kNever) timer.schedule_at(entry.rule.up);
  }
  std::uint8_t priorities = 0;
  for (const StormingEnd& other : script.storming_ends_) {
    if (other.is_on && &other.entry.port == &entry.port) priorities |= other.entry.rule.priorities;
  }
  entry.port.set_pause_storm(priorities);
}

void FaultScript::FailingEnd::on_time() {
  is_down = !is_down;
  if (is_down) {
    if (fired != nullptr) ++*fired;
    if (rule.up != kNever) timer.schedule_at(rule.up);
  }
  port.set_cable(!is_down);
}

bool Selection::hits(std::uint64_t number) const {
  if (number < first) return false;
  const std::uint64_t behind = number - first;
  return behind % every == 0 && (count == 0 || behind / every < count);
}

bool FaultScript::Entry::hits() {
  ++seen;
  if (!is_in_burst && !begins_burst()) return false;
  is_in_burst = continues_burst();
  return true;
}

bool FaultScript::Entry::begins_burst() {
  if (!rule.chance) {
    if (!rule.selection.hits(seen)) return false;
  } else {
    if (seen < rule.selection.first || (rule.selection.count != 0 && bursts == rule.selection.count)) return false;
    if (!random.chance(rule.chance->parts, rule.chance->of)) return false;
  }
  ++bursts;
  left = rule.burst.packets;
  return true;
}

bool FaultScript::Entry::continues_burst() {
  if (rule.burst.is_geometric) return random.below(rule.burst.packets) != 0;
  return --left > 0;
}

bool FaultScript::may_hit(const Rule& rule, const ib::Packet& packet) {
  if (rule.action == Action::kMark && ib::ecn_of(packet) == ib::Ecn::kNotCapable) return false;
  if (packet.is_frame) return !rule.operation;
  const bool has_operation = transport_of(packet.bth.opcode) != ib::Transport::kCnp;
  if (rule.operation && (!has_operation || *rule.operation != operation_of(packet.bth.opcode))) return false;
  return !rule.hidden || packet.payload.length > 0;
}

fabric::PacketFate FaultScript::on_packet(const fabric::Port& port, ib::Packet& packet) {
  fabric::PacketFate fate;
  const auto entries = of_port_.find(port.id());
  if (entries == of_port_.end()) return fate;
  for (Entry* const entry : entries->second) {
    if (engine_.now() < entry->rule.after || !may_hit(entry->rule, packet)) continue;
    if (entry->hits()) hit(*entry, packet, fate);
  }
  return fate;
}

void FaultScript::hit(Entry& entry, ib::Packet& packet, fabric::PacketFate& fate) {
  ++entry.fired;
  ib::record(tracer_, entry.port.id(), TraceEvent::kFault, packet, entry.index);
  switch (entry.rule.action) {
    case Action::kDrop:
      fate.is_lost = true;
      return;
    case Action::kDuplicate:
      fate.is_duplicated = true;
      return;
    case Action::kDelay:
      fate.delay += entry.rule.delay;
      return;
    case Action::kMark:
      return ib::mark_congestion(packet);
    case Action::kCorrupt:
      flip_bit(packet.payload, entry.rule.byte);
      packet.flow_hash = 0;  // the payload of a program's frame contains its IP header
      if (packet.ethernet) packet.ethernet->dscp = ib::Ethernet::kUnknownDscp;
      if (!entry.rule.hidden) packet.corrupted = true;
      return;
    case Action::kLinkDown:
    case Action::kPauseStorm:
      break;
  }
  CHECK(false);
}

}  // namespace verbatim::faults
