#include "sim/observe/late_receives.h"

#include <algorithm>
#include <utility>

#include "sim/ib/management.h"
#include "sim/observe/packet_address.h"

namespace verbatim::observe {

namespace {

constexpr std::size_t kMostDatagrams = 4096;

bool is_management(const ib::Packet& packet) {
  return packet.bth.destination == ib::kGeneralServicesQp || packet.bth.destination == ib::kSubnetManagementQp;
}

void index_by(std::vector<std::size_t>& indices, ComponentId component, std::size_t index, std::size_t none) {
  if (component.value >= indices.size()) indices.resize(component.value + 1, none);
  indices[component.value] = index;
}

}  // namespace

LateReceives::LateReceives(const std::vector<Adapter>& adapters, WaitsForEver waits_for_ever)
    : waits_for_ever_(std::move(waits_for_ever)) {
  for (std::size_t i = 0; i < adapters.size(); ++i) {
    index_by(by_adapter_, adapters[i].adapter, i, kNone);
    index_by(by_port_, adapters[i].port, i, kNone);
    hosts_.push_back(by_host_.try_emplace(adapters[i].host, by_host_.size()).first->second);
  }
  heard_.resize(by_host_.size());
}

std::size_t LateReceives::at(const std::vector<std::size_t>& indices, std::uint32_t component) {
  return component < indices.size() ? indices[component] : kNone;
}

void LateReceives::meet(std::size_t from, std::size_t to, std::int64_t done_ps) {
  std::vector<std::int64_t>& heard = heard_[to];
  if (heard.empty()) heard.assign(heard_.size(), kNever_);
  heard[from] = std::max(heard[from], done_ps);
}

void LateReceives::on_contact(ComponentId from, ComponentId to, Instant done) {
  const auto sender = by_host_.find(from), receiver = by_host_.find(to);
  if (sender != by_host_.end() && receiver != by_host_.end()) meet(sender->second, receiver->second, to_ps(done));
}

void LateReceives::on_record(const TraceRecord& record, std::span<const std::byte>) {
  const bool is_sent = record.event == TraceEvent::kDatagramSent;
  if (!is_sent && record.event != TraceEvent::kDatagramReceived) return;
  const std::size_t adapter = at(by_adapter_, record.component);
  if (adapter == kNone) return;
  const std::size_t here = hosts_[adapter];
  const Datagram key{record.values[1], record.values[2], record.values[3]};
  if (is_sent) {
    if (datagrams_.size() >= kMostDatagrams) datagrams_.clear();
    datagrams_[key][here] = record.time_ps;
    return;
  }
  if (const auto found = datagrams_.find(key); found != datagrams_.end()) {
    for (const auto& [host, sent_ps] : found->second) meet(host, here, sent_ps);
    return;
  }
  for (std::size_t host = 0; host < heard_.size(); ++host) meet(host, here, record.time_ps);
}

std::size_t LateReceives::sender_of(const ib::Packet& packet, std::size_t here) const {
  if (hosts_.size() == 2) return 1 - here;
  const auto found = by_address_.find(source_of(packet));
  return found == by_address_.end() ? kNone : found->second;
}

void LateReceives::on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) {
  const bool is_sent = record.event == TraceEvent::kPacketTransmitted;
  if (!is_sent && record.event != TraceEvent::kPacketReceived) return;
  const std::size_t here = at(by_port_, port.value);
  if (here == kNone) return;
  if (is_sent) {
    if (hosts_.size() != 2 && !packet.is_frame) by_address_[source_of(packet)] = here;
    return;
  }
  if (packet.corrupted || (!packet.is_frame && is_management(packet))) return;
  if (packet.is_frame && hosts_.size() != 2) {
    for (std::size_t host = 0; host < heard_.size(); ++host) meet(host, hosts_[here], record.time_ps);
    return;
  }
  if (const std::size_t sender = sender_of(packet, here); sender != kNone) meet(hosts_[sender], hosts_[here], record.time_ps);
}

bool LateReceives::may_know(std::size_t who, std::size_t of, std::int64_t since_ps) const {
  std::vector<bool> is_seen(heard_.size());
  std::vector<std::size_t> left{who};
  is_seen[who] = true;
  while (!left.empty()) {
    const std::size_t host = left.back();
    left.pop_back();
    if (host == of) return true;
    for (std::size_t from = 0; from < heard_[host].size(); ++from) {
      if (is_seen[from] || heard_[host][from] < since_ps) continue;
      is_seen[from] = true;
      left.push_back(from);
    }
  }
  return false;
}

bool LateReceives::is_mistake(const ib::LateReceive& receive) {
  const std::size_t here = at(by_adapter_, receive.adapter.value);
  if (here == kNone) return false;
  const std::size_t sender = sender_of(receive.packet, here);
  if (sender == kNone || waits_for_ever_(sender, receive.sender)) return false;
  return receive.found_none_before || !may_know(hosts_[sender], hosts_[here], to_ps(receive.posted));
}

}  // namespace verbatim::observe
