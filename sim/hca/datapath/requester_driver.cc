#include "sim/hca/datapath/requester_driver.h"

#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "sim/hca/datapath/adapter.h"
#include "sim/hca/datapath/payload_memory.h"
#include "sim/hca/datapath/queue_pair.h"

namespace verbatim::hca {

using ib::WcStatus;

Instant RequesterDriver::now() const { return qp_.adapter.engine.now(); }

void RequesterDriver::on_doorbell(std::uint32_t producer, bool has_work, Trail trail) {
  Actions actions;
  qp_.requester.on_doorbell(producer, has_work, std::move(trail), actions);
  qp_.executor.execute(actions);
}

void RequesterDriver::on_work(SendWork&& work) {
  if (!qp_.requester.is_flushing()) {
    work.fault = qp_.requester.check(work);
    if (work.fault == WcStatus::kSuccess) work.fault = check_names(work);
  }
  Actions actions;
  qp_.requester.on_work(std::move(work), now(), actions);
  qp_.executor.execute(actions);
}

void RequesterDriver::on_own_work(SendWork&& work) {
  work.fault = qp_.requester.check(work);
  Actions actions;
  qp_.requester.on_own_work(std::move(work), now(), actions);
  qp_.executor.execute(actions);
}

WcStatus RequesterDriver::check_names(SendWork& work) const {
  if (work.is_local()) return WcStatus::kSuccess;
  if (qp_.is_datagram()) {
    const auto handle = qp_.context.objects.ahs.find(work.address_handle);
    if (handle == qp_.context.objects.ahs.end() || handle->second.pd != qp_.params.pd) {
      qp_.adapter.diagnoses.on_faulty_work(qp_, work.wr_id, handle == qp_.context.objects.ahs.end()
                                                                ? "its address handle does not exist any more"
                                                                : "its address handle belongs to another protection domain");
      return WcStatus::kLocalQpOperationError;
    }
    work.path = std::make_unique<protocol::AddressVector>(handle->second.address);
  }
  if (work.is_inline()) return WcStatus::kSuccess;
  const std::uint32_t access = work.has_response() ? std::uint32_t{ib::kLocalWrite} : 0;
  for (protocol::Sge& sge : work.sges.entries()) {
    if (sge.length == 0) continue;
    const KeyCheck key =
        qp_.adapter.keys.check(sge.lkey, qp_.context, qp_.params.pd, sge.va, sge.length, access);
    if (key.region == nullptr) {
      Diagnoses& diagnoses = qp_.adapter.diagnoses;
      diagnoses.on_faulty_work(qp_, work.wr_id,
                               diagnoses.why_not(qp_.context, qp_.params.pd, sge.lkey, sge.va, sge.length, access));
      return WcStatus::kLocalProtectionError;
    }
    if (!work.has_response()) sge.va = key.address;  // a response is checked again when it is placed
  }
  return WcStatus::kSuccess;
}

void RequesterDriver::wake() {
  Actions actions;
  qp_.requester.wake(now(), actions);
  qp_.executor.execute(actions);
}

void RequesterDriver::on_migrated() {
  Actions actions;
  qp_.requester.on_migrated(actions);
  qp_.executor.execute(actions);
}

void RequesterDriver::flush() {
  qp_.executor.stop_timers();
  drop_held();
  Actions actions;
  qp_.requester.flush_all(now(), actions);
  qp_.executor.execute(actions);
}

Outgoing RequesterDriver::next_packet() {
  Actions actions;
  Outgoing outgoing = qp_.requester.next_packet(now(), actions);
  outgoing.qp = qp_.self;
  qp_.executor.execute(actions);
  return outgoing;
}

void RequesterDriver::on_transmit(const Outgoing& outgoing) {
  Actions actions;
  qp_.requester.on_transmit(outgoing, now(), actions);
  qp_.executor.execute(actions);
  Pacer* const pacer = qp_.pacer.get();
  if (pacer != nullptr && pacer->wants_round_trips()) [[unlikely]] pacer->on_handed_over(outgoing.packet->bth, now());
}

void RequesterDriver::receive(Incoming&& incoming) {
  if (!held_.empty()) return held_.hold_behind(std::move(incoming));
  deal_with(std::move(incoming), false);
  process_kept();
}

void RequesterDriver::process_kept() {
  while (!kept_.empty() && held_.empty()) [[unlikely]] {
    const std::optional<ib::Psn> psn = qp_.requester.next_kept();
    std::optional<Incoming> next = psn ? kept_.take(*psn) : std::nullopt;
    if (!next) return;
    next->packet->trail.add(now(), {qp_.adapter.id, kMissingResponses});
    deal_with(std::move(*next), false);
  }
}

void RequesterDriver::deal_with(Incoming&& incoming, bool is_looked_up) {
  Requester& requester = qp_.requester;
  Actions actions;
  const Requester::Placement placement = requester.receive(*incoming.packet, now(), actions);
  qp_.executor.execute(actions, &incoming);
  const std::uint64_t lookup = placement.list != nullptr ? place(incoming, placement, is_looked_up) : 0;
  requester.on_packet_done();
  if (lookup != 0) [[unlikely]] {
    held_.hold(std::move(incoming), HeldPackets::Wait::kLookUp, lookup);
  } else if (placement.is_early) [[unlikely]] {
    kept_.keep(incoming.packet->bth.psn, std::move(incoming));
  }
}

std::uint64_t RequesterDriver::place(Incoming& incoming, const Requester::Placement& placement, bool is_looked_up) {
  Adapter& adapter = qp_.adapter;
  const ib::Packet& packet = *incoming.packet;
  const std::uint32_t pd = placement.is_own ? qp_.receive_pd() : qp_.params.pd;
  if (adapter.placements.is_limited() && !is_looked_up) [[unlikely]] {
    const auto found = find_pieces(adapter, *placement.list, placement.offset, placement.length, qp_.context, pd);
    const std::uint64_t lookup = adapter.placements.begin(qp_.self, true, found.pieces, packet.trail.shared());
    if (lookup != 0) return lookup;
  }
  ib::Payload payload = packet.payload;
  if (ib::info(packet.bth.opcode).has_atomic_ack_eth) {
    const auto original = std::as_bytes(std::span(&packet.atomic_ack, 1));
    payload = {ib::PayloadBuffer::copy_of(original), 0, sizeof(packet.atomic_ack)};
  }
  const bool allowed = scatter(qp_, *placement.list, placement.offset, payload, incoming, qp_.context, pd,
                                   message_stream(qp_.number, true));
  Actions actions;
  qp_.requester.on_placed(packet, allowed, now(), actions);
  qp_.executor.execute(actions, &incoming);
  return 0;
}

void RequesterDriver::on_looked_up(std::uint64_t number) {
  if (!held_.awaits(number)) return;
  held_.resume([&](Incoming&& incoming, bool is_first) {
    if (!is_first) incoming.packet->trail.add(now(), {qp_.adapter.id, kEarlierPackets});
    deal_with(Incoming(std::move(incoming)), is_first);
  });
  process_kept();
}

void RequesterDriver::drop_held() {
  held_.drop_all();
  kept_.drop_all([](Incoming& incoming) { incoming.drop(ib::DropReason::kWrongState); });
}

}  // namespace verbatim::hca
