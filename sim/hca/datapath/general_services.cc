#include "sim/hca/datapath/general_services.h"

#include <algorithm>
#include <utility>

#include "sim/hca/adapter_base.h"
#include "sim/hca/datapath/send_pipeline.h"
#include "sim/hca/key_guard.h"
#include "sim/hca/transport/roce_path.h"
#include "sim/ib/lid_ranges.h"

namespace verbatim::hca {

namespace {

constexpr std::uint32_t kPsnLimit = 1u << 24;
// Bytes of a work request that an adapter reads: a control, a datagram and one gather segment.
constexpr std::uint32_t kWorkRequestBytes = 128;
constexpr ib::Opcode kSendOnly = ib::make_opcode(ib::Transport::kUd, ib::Operation::kSendOnly);

void record(const AdapterBase& adapter, TraceEvent event, const ib::ManagementDatagram& datagram) {
  const auto word = [&](std::size_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | std::to_integer<std::uint64_t>(datagram.mad[at + i]);
    return value;
  };
  const std::uint64_t class_and_method = word(1, 1) << 8 | word(3, 1);
  adapter.tracer.record(adapter.id, event, datagram.lid.value, class_and_method, word(16, 2), word(8, 8), datagram.mad);
}

}  // namespace

GeneralServices::GeneralServices(AdapterBase& adapter, host::DmaEngine& dma, SendPipeline& sender, KeyGuard& key_guard)
    : adapter_(adapter),
      dma_(dma),
      sender_(sender),
      key_guard_(key_guard),
      posted_(DelayLine<ib::PacketPtr>::of<&GeneralServices::on_posted>(adapter.engine, adapter.id, EventClass::kArrival, this)),
      delivering_(DelayLine<ib::ManagementDatagram>::of<&GeneralServices::deliver>(adapter.engine, adapter.id, EventClass::kStage,
                                                                             this)) {}

void GeneralServices::send(const ib::ManagementDatagram& datagram) {
  if (adapter_.has_failed) return;
  record(adapter_, TraceEvent::kDatagramSent, datagram);
  Trail none;
  const Instant arrival = dma_.ring(none);
  posted_.push(arrival, make_packet(datagram));
}

ib::PacketPtr GeneralServices::make_packet(const ib::ManagementDatagram& datagram) {
  auto packet = std::make_unique<ib::Packet>();
  packet->lrh.source = adapter_.address.lid;
  packet->lrh.destination = datagram.lid;
  packet->lrh.service_level =
      adapter_.address.priorities.of_path(datagram.service_level.value, datagram.grh ? datagram.grh->traffic_class : 0);
  if (datagram.is_subnet_management()) {
    packet->lrh.lane = fabric::kManagementLane;
    if (datagram.lid == ib::kPermissiveLid) packet->lrh.source = ib::kPermissiveLid;
  }
  packet->bth.opcode = kSendOnly;
  packet->bth.pkey = datagram.pkey;
  packet->bth.destination = datagram.remote_queue;
  packet->bth.psn = ib::Psn{next_psn_};
  next_psn_ = (next_psn_ + 1) % kPsnLimit;
  packet->deth = {datagram.is_subnet_management() ? 0 : datagram.qkey, datagram.queue};
  packet->grh = datagram.grh;
  packet->payload.buffer = ib::PayloadBuffer::copy_of(datagram.mad);
  packet->payload.length = ib::kMadBytes;
  if (adapter_.address.roce) set_ethernet(*packet, adapter_.address, datagram.queue.value);
  return packet;
}

// Reads the work request and its data.
void GeneralServices::on_posted(ib::PacketPtr packet) {
  fetching_.push_back(std::move(packet));
  const host::DmaPiece pieces[] = {kWorkRequestBytes, std::uint32_t{ib::kMadBytes}};
  dma_.read(pieces, *this, 0);
}

void GeneralServices::on_dma_read(std::uint64_t, Instant at_adapter) {
  sender_.send_datagram(fetching_.pop_front(), at_adapter);
}

bool GeneralServices::takes(const ib::Packet& packet) const {
  const bool on_own_lane = packet.lrh.lane == fabric::kManagementLane;
  const ib::Qpn queue = on_own_lane ? ib::kSubnetManagementQp : ib::kGeneralServicesQp;
  return agent_ != nullptr && !adapter_.has_failed && packet.bth.destination == queue && packet.bth.opcode == kSendOnly &&
         packet.payload.length == ib::kMadBytes;
}

bool GeneralServices::is_subnet_management(const ib::Packet& packet) {
  return packet.lrh.lane == fabric::kManagementLane && packet.bth.destination == ib::kSubnetManagementQp &&
         packet.deth.source == ib::kSubnetManagementQp;
}

// IBA 10.2.4, C9-42: any P_Key of the table is accepted; the Q_Key is the well-known one. Queue pair 0 checks
// neither (C9-57).
void GeneralServices::receive(Incoming&& incoming) {
  const ib::Packet& packet = *incoming.packet;
  const auto& keys = adapter_.address.pkeys;
  const bool of_subnet = is_subnet_management(packet);
  const auto matches = [&](std::uint16_t key) { return ib::do_pkeys_match(packet.bth.pkey, key); };
  if (!of_subnet && std::none_of(keys.begin(), keys.end(), matches)) {
    key_guard_.on_bad_pkey(packet);
    return incoming.drop(DropReason::kWrongPkey);
  }
  if (!of_subnet && packet.deth.qkey != ib::kGeneralServicesQkey) {
    key_guard_.on_bad_qkey(packet);
    return incoming.drop(DropReason::kWrongQkey);
  }
  ib::ManagementDatagram datagram{packet.lrh.source, packet.lrh.service_level, packet.bth.pkey, packet.grh, {}};
  datagram.queue = packet.bth.destination;
  datagram.remote_queue = packet.deth.source;
  std::ranges::copy(packet.payload.bytes(), datagram.mad.begin());
  const std::uint32_t bytes = ib::kMadBytes + (packet.grh ? ib::kGrhBytes : 0);
  placing_.push_back(std::move(datagram));
  const host::DmaWriteTimes times = dma_.write(bytes, *this, 0);
  incoming.release(times.left_adapter);
}

void GeneralServices::on_dma_write(std::uint64_t) {
  delivering_.push(adapter_.engine.now() + adapter_.profile.event_latency, placing_.pop_front());
}

void GeneralServices::deliver(ib::ManagementDatagram datagram) {
  record(adapter_, TraceEvent::kDatagramReceived, datagram);
  agent_->on_datagram(datagram);
}

}  // namespace verbatim::hca
