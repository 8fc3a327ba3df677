#include "sim/management/node_agents.h"

#include <algorithm>

#include "sim/ib/lid_ranges.h"
#include "sim/mad/fields.h"

namespace verbatim::management {

namespace {

// Time of the node's firmware per datagram, one at a time: assumed.
constexpr Duration kFirmwareWork = std::chrono::microseconds(5);

bool is_directed(const ib::ManagementDatagram& datagram) {
  return datagram.is_subnet_management() &&
         mad::header_of(datagram.mad).management_class == mad::kSubnetManagementDirected;
}

ib::ManagementDatagram reply_to(const ib::ManagementDatagram& question, const ib::Mad& answer) {
  ib::ManagementDatagram reply = question;
  if (reply.grh) std::swap(reply.grh->source, reply.grh->destination);
  reply.mad = answer;
  return reply;
}

}  // namespace

NodeAgents::NodeAgents(Engine& engine, ComponentId source, Node& node, NodeHardware& hardware, const PortCounters& counters,
                       CongestionHardware& congestion, NodeOutlet& outlet)
    : engine_(engine),
      node_(node),
      outlet_(outlet),
      subnet_(node, hardware),
      performance_(node, counters),
      congestion_(node, congestion),
      traps_(engine, source, node, outlet),
      source_(source),
      work_(DelayLine<Work>::of<&NodeAgents::on_work>(engine, source, EventClass::kSupervisor, this)) {}

void NodeAgents::receive(const ib::ManagementDatagram& datagram, std::uint8_t in_port, Instant when) {
  ready_ = std::max(ready_, when) + kFirmwareWork;
  work_.push(ready_, {datagram, in_port});
}

void NodeAgents::on_work(Work work) {
  if (!is_directed(work.datagram)) return serve(work.datagram, work.in_port);
  const auto ports = static_cast<std::uint8_t>(node_.is_switch() ? node_.ports.size() - 1 : 0);
  const Hop hop = arrive(work.datagram.mad, work.in_port, ports);
  take(hop, work.datagram, work.in_port);
}

void NodeAgents::take(Hop hop, const ib::ManagementDatagram& datagram, std::uint8_t in_port) {
  ib::ManagementDatagram onward = datagram;
  switch (hop.action) {
    case Hop::Action::kDrop:
      return;
    case Hop::Action::kHere:
      return serve(datagram, in_port);
    case Hop::Action::kByPort:
      onward.lid = ib::kPermissiveLid;
      return outlet_.send_by(hop.port, onward);
    case Hop::Action::kByLid:
      onward.lid = hop.lid;
      return outlet_.send_to_lid(onward);
  }
}

void NodeAgents::send(const ib::ManagementDatagram& datagram) {
  if (!is_directed(datagram)) return outlet_.send_to_lid(datagram);
  ib::ManagementDatagram leaving = datagram;
  const Hop hop = depart(leaving.mad, datagram.lid);
  // A datagram to this node itself counts as received by the node's own port, and takes the firmware's time.
  if (hop.action == Hop::Action::kHere) {
    leaving.lid = ib::kPermissiveLid;
    leaving.remote_queue = leaving.queue;
    const auto own = static_cast<std::uint8_t>(node_.is_switch() ? 0 : 1);
    ready_ = std::max(ready_, engine_.now()) + kFirmwareWork;
    return work_.push(ready_, {leaving, own});
  }
  take(hop, leaving, 0);
}

void NodeAgents::trap(const mad::Notice& notice) { traps_.raise(notice, kFirmwareWork); }

std::optional<ib::ManagementDatagram> NodeAgents::trap_datagram() const {
  const mad::congestion::TrapTarget& target = congestion_.trap_target();
  if (target.lid == 0) return std::nullopt;
  mad::Header header;
  header.management_class = mad::kCongestionControl;
  header.class_version = mad::congestion::kClassVersion;
  header.attribute_id = mad::congestion::kNotice;
  ib::ManagementDatagram datagram;
  mad::put_header(datagram.mad, header);
  datagram.lid = ib::Lid{target.lid};
  datagram.service_level = ib::ServiceLevel{target.service_level};
  datagram.pkey = target.pkey;
  datagram.remote_queue = ib::Qpn{target.qp};
  datagram.qkey = target.qkey;
  if (target.gid != ib::Gid{}) {
    const NodePort& own = node_.base_port(1);
    ib::Grh& grh = datagram.grh.emplace();
    mad::FieldWriter(std::as_writable_bytes(std::span(grh.source.raw))).number(0, 0, 64, own.info.gid_prefix);
    mad::FieldWriter(std::as_writable_bytes(std::span(grh.source.raw))).number(8, 0, 64, own.guids.empty() ? 0 : own.guids[0]);
    grh.destination = target.gid;
    grh.flow_label = target.flow_label;
    grh.traffic_class = target.traffic_class;
    grh.hop_limit = target.hop_limit;
  }
  return datagram;
}

void NodeAgents::serve(const ib::ManagementDatagram& datagram, std::uint8_t in_port) {
  const mad::Header header = mad::header_of(datagram.mad);
  const bool asks = header.method == mad::kGet || header.method == mad::kSet;
  const bool is_smp = datagram.is_subnet_management();
  if (is_smp != mad::is_subnet_management(header.management_class)) return;
  if (asks && is_smp && header.attribute_id != mad::smp::kSmInfo) {
    if (const auto answer = subnet_.answer(datagram.mad, in_port)) return send(reply_to(datagram, *answer));
    const auto producer = node_.is_switch() ? mad::Notice::kSwitch : mad::Notice::kChannelAdapter;
    return trap(mad::bad_mkey_notice(producer, node_.base_port(in_port).info.lid, datagram.mad, datagram.lid.value));
  }
  if (is_smp && header.method == mad::kTrapRepress && traps_.repress(header)) return;
  if (asks && header.management_class == mad::kPerformanceManagement) {
    return send(reply_to(datagram, performance_.answer(datagram.mad, in_port)));
  }
  if (asks && header.management_class == mad::kCongestionControl) {
    if (const auto answer = congestion_.answer(datagram.mad, in_port, engine_.now())) return send(reply_to(datagram, *answer));
    const auto producer = node_.is_switch() ? mad::Notice::kSwitch : mad::Notice::kChannelAdapter;
    const TrapRoute* const route = this;
    if (congestion_traps_ == nullptr) congestion_traps_ = std::make_unique<TrapSender>(engine_, source_, node_, outlet_, route);
    return congestion_traps_->raise(
        mad::bad_congestion_key_notice(producer, node_.base_port(in_port).info.lid, datagram), kFirmwareWork);
  }
  if (header.method == mad::kTrapRepress && header.management_class == mad::kCongestionControl && congestion_traps_ != nullptr &&
      congestion_traps_->repress(header))
    return;
  if (outlet_.deliver(datagram) || !asks) return;
  // IBA 13.4.5: unsupported requests are refused.
  ib::Mad answer = datagram.mad;
  mad::Header refusal = header;
  refusal.method = mad::kGetResponse;
  refusal.status = mad::kUnsupportedAttribute;
  if (header.management_class == mad::kSubnetManagementDirected) refusal.status |= 0x8000;
  mad::put_header(answer, refusal);
  send(reply_to(datagram, answer));
}

}  // namespace verbatim::management
