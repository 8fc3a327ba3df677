#include "sim/config/ideal_times.h"

#include <algorithm>

#include "sim/config/flows.h"
#include "sim/config/link_params.h"
#include "sim/ib/packet.h"
#include "sim/ib/segmentation.h"
#include "sim/ib/types.h"

namespace verbatim::config {

namespace {

// Wire bytes of an RC packet with this payload; on Ethernet between IPv4 addresses.
std::uint32_t wire_bytes_of(ib::Opcode opcode, std::uint32_t payload, bool is_roce) {
  ib::Packet packet;
  packet.bth.opcode = opcode;
  packet.payload.length = payload;
  if (is_roce) {
    constexpr ib::Gid kAny{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}};
    packet.ethernet.emplace();
    packet.grh.emplace(ib::Grh{.source = kAny, .destination = kAny});
  }
  return packet.wire_bytes();
}

struct MessagePackets {
  std::uint64_t bytes = 0, packets = 0;  // sums over all packets
  std::uint32_t first_payload = 0, first = 0, last = 0;
};

MessagePackets packets_of_message(ib::MessageKind kind, std::uint32_t length, std::uint32_t mtu,
                                  bool is_roce) {
  const auto wire = [&](std::uint32_t offset) {
    const ib::Segment segment = ib::next_segment(ib::Transport::kRc, kind, length, offset, mtu);
    return wire_bytes_of(segment.opcode, segment.length, is_roce);
  };
  MessagePackets message;
  message.packets = ib::packet_count(length, mtu);
  message.first_payload = std::min(length, mtu);
  message.first = message.last = wire(0);
  message.bytes = message.first;
  if (message.packets == 1) return message;
  message.last = wire(static_cast<std::uint32_t>((message.packets - 1) * mtu));
  message.bytes += message.last;
  if (message.packets > 2) message.bytes += (message.packets - 2) * wire(mtu);
  return message;
}

// Bytes on the line of a link.
std::uint64_t line_bytes(const fabric::LinkParams& link, std::uint64_t wire_bytes, std::uint64_t packets) {
  return wire_bytes + packets * (link.bytes_before + link.bytes_after);
}

ib::MessageKind kind_of(hca::SourceWork::Operation operation) {
  switch (operation) {
    case hca::SourceWork::Operation::kWrite:
      return ib::MessageKind::kWrite;
    case hca::SourceWork::Operation::kSend:
      return ib::MessageKind::kSend;
    case hca::SourceWork::Operation::kRead:
      return ib::MessageKind::kReadResponse;
  }
  CHECK(false);
}

}  // namespace

IdealTimes::IdealTimes(Simulation& simulation)
    : simulation_(simulation),
      topology_(simulation.topology()),
      cables_(topology_),
      of_adapter_(topology_.adapters.size(), nullptr) {
  links_.reserve(topology_.links.size());
  for (const LinkSpec& link : topology_.links) links_.push_back(link_params_of(link, topology_.is_roce()));
  for (const SwitchSpec& one : topology_.switches) {
    const fabric::SwitchProfile& profile = one.switch_profile;
    // The least time that this number of cycles takes from a clock edge; Clock rounds up to picoseconds.
    forwarding_.push_back(
        Duration(static_cast<std::int64_t>(static_cast<unsigned __int128>(profile.cut_through_cycles) *
                                           1'000'000'000'000 / profile.core_clock_hz)));
  }
}

const hca::LightDelays& IdealTimes::delays(std::size_t adapter) {
  if (of_adapter_[adapter] == nullptr) {
    const AdapterSpec& spec = topology_.adapters[adapter];
    const HostSpec& host = topology_.hosts[spec.host];
    const std::string& reference = spec.number == 0 ? host.hca : host.further_adapters[spec.number - 1].hca;
    of_adapter_[adapter] = &delays_.try_emplace(reference, topology_.hca_profile(spec)).first->second;
  }
  return *of_adapter_[adapter];
}

const std::vector<IdealTimes::Hop>& IdealTimes::path(std::size_t from, std::size_t to) {
  path_.clear();
  for (const Endpoint& out : outputs_of(topology_, cables_, simulation_.plan(), from, to)) {
    Hop hop{&links_[static_cast<std::size_t>(cables_.at(out) - topology_.links.data())]};
    if (out.is_switch) {
      hop.forwarding = forwarding_[out.node];
      hop.waits_for_tail = fabric::is_faster(hop.link->byte_time, path_.back().link->byte_time);
    }
    path_.push_back(hop);
  }
  return path_;
}

IdealTimes::Packets IdealTimes::one_packet(ib::Opcode opcode, bool is_roce) {
  Packets packets;
  packets.first = packets.last = wire_bytes_of(opcode, 0, is_roce);
  return packets;
}

IdealTimes::Packets IdealTimes::packets_of(const workload::FlowKind& kind, std::uint64_t bytes,
                                           std::uint32_t mtu, bool is_roce) {
  const ib::MessageKind message = kind_of(kind.operation);
  const auto length = [&](std::uint64_t left) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(left, kind.message_bytes));
  };
  const std::uint64_t whole = (bytes - 1) / kind.message_bytes;  // messages before the last one
  const MessagePackets first = packets_of_message(message, length(bytes), mtu, is_roce);
  const MessagePackets last =
      packets_of_message(message, length(bytes - whole * kind.message_bytes), mtu, is_roce);
  Packets packets;
  packets.first_payload = first.first_payload;
  packets.first = first.first;
  packets.last = last.last;
  packets.before_last = whole * first.packets + last.packets - 1;
  packets.bytes_before_last = whole * first.bytes + last.bytes - last.last;
  return packets;
}

// From the first packet's start on the first link until the last packet's last byte leaves the last link. On
// each link the first packet starts as soon as it can, and the last packet follows all others, but not before
// it has arrived itself.
Duration IdealTimes::time_of_path(const std::vector<Hop>& path, const Packets& packets, bool has_one_path) {
  const auto next_start = [](Duration start, const Hop& hop, const Hop& next, std::uint32_t wire_bytes) {
    const fabric::LinkParams& link = *hop.link;
    const std::uint32_t bytes = link.bytes_before + (next.waits_for_tail ? wire_bytes : link.header_bytes);
    return start + link.byte_time.time_for(bytes) + link.propagation + next.forwarding;
  };
  Duration first{0}, last{0};
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (i > 0) {
      first = next_start(first, path[i - 1], path[i], packets.first);
      last = next_start(last, path[i - 1], path[i], packets.last);
    }
    const fabric::LinkParams& link = *path[i].link;
    const bool is_of_host = i == 0 || i + 1 == path.size();
    if (!is_of_host && !has_one_path) continue;
    last = std::max(last, first + link.byte_time.time_for(
                                      line_bytes(link, packets.bytes_before_last, packets.before_last)));
  }
  const fabric::LinkParams& link = *path.back().link;
  return last + link.byte_time.time_for(link.bytes_before + packets.last) + link.propagation;
}

std::optional<Duration> IdealTimes::of(const workload::FlowKind& kind, const workload::FlowPlan& flow) {
  if (flow.is_endless()) return std::nullopt;
  const bool is_roce = topology_.is_roce();
  const std::uint32_t mtu =
      ib::mtu_bytes(path_mtu(simulation_.endpoint(flow.from), simulation_.endpoint(flow.to)));
  const Packets packets = packets_of(kind, flow.bytes, mtu, is_roce);
  const std::vector<Hop>& there = path(flow.from, flow.to);
  if (there.empty()) return std::nullopt;
  const bool has_one_path =
      there.size() < 3 || (topology_.load_balancing.by == "flow" && (!is_roce || kind.queue_pairs == 1));
  Duration time = time_of_path(there, packets, has_one_path);
  const std::vector<Hop>& back = path(flow.to, flow.from);
  if (back.empty()) return std::nullopt;
  const hca::LightDelays &sender = delays(flow.from), &receiver = delays(flow.to);
  if (kind.operation == hca::SourceWork::Operation::kRead) {
    constexpr ib::Opcode kReadRequest = ib::make_opcode(ib::Transport::kRc, ib::Operation::kReadRequest);
    time += time_of_path(back, one_packet(kReadRequest, is_roce), true);
    return receiver.request + receiver.send(0) + sender.receive + sender.send(packets.first_payload) + time +
           receiver.receive + receiver.complete;
  }
  time += time_of_path(back, one_packet(ib::Opcode::kRcAcknowledge, is_roce), true);
  return sender.request + sender.send(packets.first_payload) + time + receiver.receive +
         receiver.acknowledge + sender.receive + sender.complete;
}

}  // namespace verbatim::config
