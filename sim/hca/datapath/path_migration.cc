// Automatic path migration (IBA 17.2.8): a connection changes to its second path when its requester has no
// retries left, when its program asks for it, or when its peer has changed. A bit of each packet (MigReq)
// shows the peer whether its sender has changed: once each side has seen that the other has loaded a path
// (Rearm), both are Armed.
//
// With one port and one LID per adapter the two paths may differ in service level, partition and global
// header; the route through the fabric is that of the LID.
#include <cerrno>

#include "sim/hca/datapath/adapter.h"
#include "sim/hca/datapath/queue_pair.h"
#include "sim/ib/partition.h"

namespace verbatim::hca {

int QueuePair::check_alternate_path(const protocol::QpAttributes& to) const {
  const Diagnoses& diagnoses = adapter.diagnoses;
  // Drivers refuse it on Ethernet, where there is no LID to choose.
  if (adapter.address.roce) return diagnoses.refuse(EINVAL, "there are no alternate paths on Ethernet");
  if (to.alt_port_num != 1 || to.alternate_path.port != to.alt_port_num) {
    return diagnoses.refuse(EINVAL, "alt_port_num ", to.alt_port_num, ", alt_ah_attr.port_num ", to.alternate_path.port,
                            ": there is port 1");
  }
  if (to.alt_pkey_index >= adapter.profile.pkey_table_length || to.alt_timeout > 31) {
    return diagnoses.refuse(EINVAL, "alt_pkey_index ", to.alt_pkey_index, ", alt_timeout ", to.alt_timeout,
                            ": they are below pkey_tbl_len ", adapter.profile.pkey_table_length, " and 32");
  }
  return 0;
}

int QueuePair::check_migration_state(std::uint32_t to, bool brings_alternate) const {
  switch (MigrationState{to}) {
    case MigrationState::kMigrated:
      return 0;
    case MigrationState::kRearm:
      if (has_alternate_path() || brings_alternate) return 0;
      return adapter.diagnoses.refuse(EINVAL, "path_mig_state IBV_MIG_REARM: there is no alternate path (IBV_QP_ALT_PATH)");
    case MigrationState::kArmed:
      break;  // a queue pair enters this state by itself, when both sides are ready
  }
  if (to == attributes.path_mig_state) return 0;
  return adapter.diagnoses.refuse(EINVAL, "path_mig_state ", to, ": a queue pair changes to IBV_MIG_ARMED by itself, from IBV_MIG_REARM, "
                                  "when its peer has loaded a path as well");
}

void QueuePair::move_migration_state(std::uint32_t to) {
  if (MigrationState{to} == MigrationState::kMigrated && is_armed()) return migrate();
  attributes.path_mig_state = to;
}

void QueuePair::migrate() {
  attributes.path = attributes.alternate_path;
  attributes.pkey_index = attributes.alt_pkey_index;
  pkey_ = adapter.address.pkey(attributes.pkey_index);
  attributes.port_num = attributes.alt_port_num;
  attributes.timeout = attributes.alt_timeout;
  attributes.alternate_path = {};
  attributes.alt_pkey_index = 0;
  attributes.alt_port_num = attributes.alt_timeout = 0;
  attributes.path_mig_state = static_cast<std::uint32_t>(MigrationState::kMigrated);
  renew_pacer();
  raise(ib::AsyncEventType::kPathMigrated);
  requester_driver.on_migrated();
}

bool QueuePair::follow_peer(const ib::Packet& packet) {
  const bool has_migrated = packet.bth.mig_request;
  if (!is_armed()) {
    const bool is_peers = ib::do_pkeys_match(packet.bth.pkey, pkey()) && is_from_peer(packet);
    if (!has_migrated && is_peers) attributes.path_mig_state = static_cast<std::uint32_t>(MigrationState::kArmed);
    return true;
  }
  if (!has_migrated) return true;
  const std::uint16_t pkey = adapter.address.pkey(attributes.alt_pkey_index);
  if (ib::do_pkeys_match(packet.bth.pkey, pkey) && is_from(packet, attributes.alternate_path)) {
    migrate();
    return true;
  }
  raise(ib::AsyncEventType::kPathMigrationError);
  return false;
}

}  // namespace verbatim::hca
