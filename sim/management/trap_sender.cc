#include "sim/management/trap_sender.h"

#include <algorithm>
#include <utility>

#include "sim/management/node_agents.h"

namespace verbatim::management {

namespace {

// IBA 14.2.5.6.
Duration subnet_timeout(const NodePort& port) {
  return std::chrono::nanoseconds(std::int64_t{4096} << port.info.subnet_timeout);
}

// The attribute without the GID of its issuer, for which a subnet management datagram has no room.
void put_notice(ib::Mad& mad, const mad::Notice& notice) {
  const auto bytes = notice.encode();
  mad::smp::Data data;
  std::copy_n(bytes.begin(), data.size(), data.begin());
  mad::smp::put_data(mad, data);
}

}  // namespace

TrapSender::TrapSender(Engine& engine, ComponentId source, const Node& node, NodeOutlet& outlet)
    : engine_(engine),
      node_(node),
      outlet_(outlet),
      timer_(Timer::of<&TrapSender::on_time>(engine, source, EventClass::kSupervisor, this)) {}

void TrapSender::raise(const mad::Notice& notice, Duration firmware_work) {
  const bool is_told =
      std::ranges::any_of(pending_, [&](const Pending& trap) { return trap.notice == notice; });
  if (!has_manager() || is_told || pending_.size() >= kMostPending) return;
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
  mad::Header header;
  header.management_class = mad::kSubnetManagementLid;
  header.class_version = mad::smp::kClassVersion;
  header.method = mad::kTrap;
  header.transaction_id = trap.transaction;
  header.attribute_id = mad::smp::kNotice;
  ib::ManagementDatagram datagram;
  mad::put_header(datagram.mad, header);
  put_notice(datagram.mad, trap.notice);
  datagram.lid = ib::Lid{port().info.master_sm_lid};
  datagram.service_level = ib::ServiceLevel{port().info.master_sm_sl};
  datagram.queue = datagram.remote_queue = ib::kSubnetManagementQp;
  outlet_.send_to_lid(datagram);
}

bool TrapSender::repress(const mad::Header& header) {
  const auto found = std::ranges::find(pending_, header.transaction_id, &Pending::transaction);
  if (header.attribute_id != mad::smp::kNotice || found == pending_.end()) return false;
  pending_.erase(found);
  if (pending_.empty()) timer_.cancel();
  return true;
}

}  // namespace verbatim::management
