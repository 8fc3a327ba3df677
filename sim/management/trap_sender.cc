#include "sim/management/trap_sender.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/management/node_agents.h"

namespace verbatim::management {

namespace {

// IBA 14.2.5.6.
Duration subnet_timeout(const NodePort& port) {
  return std::chrono::nanoseconds(std::int64_t{4096} << port.info.subnet_timeout);
}

}  // namespace

std::optional<ib::ManagementDatagram> SubnetTrapRoute::trap_datagram() const {
  const mad::smp::PortInfo& info = node_.base_port(1).info;
  if (info.master_sm_lid == 0) return std::nullopt;
  mad::Header header;
  header.management_class = mad::kSubnetManagementLid;
  header.class_version = mad::smp::kClassVersion;
  header.attribute_id = mad::smp::kNotice;
  ib::ManagementDatagram datagram;
  mad::put_header(datagram.mad, header);
  datagram.lid = ib::Lid{info.master_sm_lid};
  datagram.service_level = ib::ServiceLevel{info.master_sm_sl};
  datagram.queue = datagram.remote_queue = ib::kSubnetManagementQp;
  return datagram;
}

std::size_t SubnetTrapRoute::notice_offset() const { return mad::smp::kDataOffset; }
// Without the issuer's GID, for which a subnet management datagram has no room.
std::size_t SubnetTrapRoute::notice_bytes() const { return std::tuple_size_v<mad::smp::Data>; }

TrapSender::TrapSender(Engine& engine, ComponentId source, const Node& node, NodeOutlet& outlet, const TrapRoute* route)
    : engine_(engine),
      node_(node),
      outlet_(outlet),
      usual_route_(node),
      route_(route),
      timer_(Timer::of<&TrapSender::on_time>(engine, source, EventClass::kSupervisor, this)) {}

void TrapSender::raise(const mad::Notice& notice, Duration firmware_work) {
  const bool is_pending =
      std::ranges::any_of(pending_, [&](const Pending& trap) { return trap.notice == notice; });
  if (!has_manager() || is_pending || pending_.size() >= kMostPending) return;
  pending_.push_back({notice, ++last_transaction_});
  if (!timer_.scheduled()) timer_.schedule_at(std::max(engine_.now() + firmware_work, next_));
}

void TrapSender::on_time() {
  if (!has_manager()) pending_.clear();
  if (pending_.empty()) return;
  Pending trap = std::move(pending_.front());
  pending_.pop_front();
  send(trap);
  if (++trap.times_sent < kTimesSent) pending_.push_back(std::move(trap));
  next_ = engine_.now() + subnet_timeout(port());
  if (!pending_.empty()) timer_.schedule_at(next_);
}

void TrapSender::send(const Pending& trap) {
  std::optional<ib::ManagementDatagram> datagram = route().trap_datagram();
  mad::Header header = mad::header_of(datagram->mad);
  header.method = mad::kTrap;
  header.transaction_id = trap.transaction;
  mad::put_header(datagram->mad, header);
  const auto bytes = trap.notice.encode();
  const std::size_t count = std::min(bytes.size(), route().notice_bytes());
  std::copy_n(bytes.begin(), count, datagram->mad.begin() + static_cast<std::ptrdiff_t>(route().notice_offset()));
  outlet_.send_to_lid(*datagram);
}

bool TrapSender::repress(const mad::Header& header) {
  const auto found = std::ranges::find(pending_, header.transaction_id, &Pending::transaction);
  if (header.attribute_id != mad::smp::kNotice || found == pending_.end()) return false;
  pending_.erase(found);
  if (pending_.empty()) timer_.cancel();
  return true;
}

}  // namespace verbatim::management
