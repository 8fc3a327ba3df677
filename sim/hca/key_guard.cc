#include "sim/hca/key_guard.h"

#include "sim/ib/opcode.h"

namespace verbatim::hca {

namespace {

ib::KeyViolation violation_by(const ib::Packet& packet, std::uint32_t key) {
  ib::KeyViolation violation;
  violation.key = key;
  violation.service_level = packet.lrh.service_level;
  violation.source_lid = packet.lrh.source;
  violation.destination_lid = packet.lrh.destination;
  if (ib::info(packet.bth.opcode).has_deth) violation.source_qp = packet.deth.source;
  violation.destination_qp = packet.bth.destination;
  if (packet.grh) {
    violation.source_gid = packet.grh->source;
    violation.destination_gid = packet.grh->destination;
  }
  return violation;
}

}  // namespace

void KeyGuard::on_bad_pkey(const ib::Packet& packet) {
  violations_.pkey.count();
  if (listener_ != nullptr) listener_->on_bad_pkey(violation_by(packet, packet.bth.pkey));
}

void KeyGuard::on_bad_qkey(const ib::Packet& packet) {
  violations_.qkey.count();
  if (listener_ != nullptr) listener_->on_bad_qkey(violation_by(packet, packet.deth.qkey));
}

}  // namespace verbatim::hca
