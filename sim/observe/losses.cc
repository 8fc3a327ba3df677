#include "sim/observe/losses.h"

#include "sim/ib/aeth.h"
#include "sim/ib/drop_reason.h"
#include "sim/ib/packet.h"
#include "sim/observe/drop_names.h"

namespace verbatim::observe {

Losses::Losses(const ComponentTable& components, const std::vector<ComponentId>& host_ports)
    : components_(components), is_host_port_(components.size()) {
  for (const ComponentId port : host_ports) is_host_port_.at(port.value) = true;
}

void Losses::on_record(const TraceRecord& record, std::span<const std::byte>) {
  switch (record.event) {
    case TraceEvent::kPacketDropped:
      if (static_cast<ib::DropReason>(record.values[3]) == ib::DropReason::kAfterNak) ++packets_discarded_;
      else if (is_loss(record.values[3])) ++packets_dropped_;
      return;
    case TraceEvent::kAckSent:
      if (ib::ack_kind(static_cast<std::uint8_t>(record.values[2])) == ib::AckKind::kRnrNak) ++rnr_naks_;
      return;
    case TraceEvent::kRetransmission: {
      ++retries_;
      const QueuePair of(record.component, record.values[0]);
      Series& series = last_[of];
      if (series.retries == 0 || series.psn != record.values[1]) series = {record.values[1], 0, record.time_ps, 0};
      ++series.retries;
      series.last_ps = record.time_ps;
      if (is_worse(series, worst_)) {
        worst_ = series;
        worst_of_ = of;
      }
      constexpr std::uint64_t kTimeout = 1;  // hca::RetryCause::kTimeout
      if (record.values[2] == kTimeout && on_timeout_) on_timeout_();
      return;
    }
    default:
      return;
  }
}

void Losses::on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) {
  if (packet.retransmission == 0 || record.event != TraceEvent::kPacketTransmitted) return;
  if (is_host_port_[port.value]) ++packets_sent_again_;
}

Losses::Message Losses::worst_message() const {
  if (worst_.retries == 0) return {};
  const std::string& adapter = components_.name(ComponentId{worst_of_.first});
  return {adapter, worst_of_.second, worst_.psn, worst_.retries, worst_.first_ps, worst_.last_ps};
}

}  // namespace verbatim::observe
