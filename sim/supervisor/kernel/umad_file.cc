#include "sim/supervisor/kernel/umad_file.h"

#include <arpa/inet.h>
#include <rdma/ib_user_mad.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sim/supervisor/tasks/process.h"
#include "sim/supervisor/trees/management_tree.h"

namespace verbatim::supervisor {

namespace {

using management::MadBytes;
using management::MadRegistration;

static_assert(sizeof(ib_user_mad_hdr_old) == 56 && sizeof(ib_user_mad_hdr) == 64);

ib::Gid gid_at(const std::vector<ib::Gid>& gids, std::uint8_t index) { return index < gids.size() ? gids[index] : ib::Gid{}; }

std::uint16_t index_of(const std::vector<std::uint16_t>& pkeys, std::uint16_t pkey) {
  const auto found = std::ranges::find(pkeys, pkey);
  return found == pkeys.end() ? 0 : static_cast<std::uint16_t>(found - pkeys.begin());
}

ib_user_mad_hdr header_of(const ib::ManagementDatagram& from, const std::vector<std::uint16_t>& pkeys) {
  ib_user_mad_hdr to{};
  to.qpn = htonl(from.remote_queue.value);
  to.qkey = htonl(from.is_subnet_management() ? 0 : from.qkey);
  to.lid = htons(from.lid.value);
  to.sl = from.service_level.value;
  to.pkey_index = index_of(pkeys, from.pkey);
  if (!from.grh) return to;
  to.grh_present = 1;
  to.hop_limit = from.grh->hop_limit;
  to.traffic_class = from.grh->traffic_class;
  std::memcpy(to.gid, from.grh->source.raw, sizeof to.gid);
  to.flow_label = htonl(from.grh->flow_label);
  return to;
}

ib::ManagementDatagram datagram_of(const ib_user_mad_hdr& from, const management::PortManagement& port) {
  constexpr std::uint8_t kLevels = 16;
  ib::ManagementDatagram to;
  to.lid = ib::Lid{ntohs(from.lid)};
  to.service_level = ib::ServiceLevel{static_cast<std::uint8_t>(from.sl % kLevels)};
  to.remote_queue = ib::Qpn{ntohl(from.qpn) & 0xffffff};
  to.qkey = ntohl(from.qkey);
  to.pkey = from.pkey_index < port.pkeys().size() ? port.pkeys()[from.pkey_index] : ib::kDefaultPkey;
  if (from.grh_present == 0) return to;
  ib::Grh grh;
  grh.source = gid_at(port.gids(), from.gid_index);
  std::memcpy(grh.destination.raw, from.gid, sizeof grh.destination.raw);
  grh.flow_label = ntohl(from.flow_label) & 0xfffff;
  grh.traffic_class = from.traffic_class;
  grh.hop_limit = from.hop_limit;
  to.grh = grh;
  return to;
}

}  // namespace

std::size_t UmadFile::header_bytes() const {
  return has_pkey_index_ ? sizeof(ib_user_mad_hdr) : sizeof(ib_user_mad_hdr_old);
}

std::uint32_t UmadFile::readiness() const {
  return (port_.has_failed() ? POLLERR : 0) | POLLOUT | POLLWRNORM | (received_.empty() ? 0 : POLLIN | POLLRDNORM);
}

IoResult UmadFile::read(std::size_t limit, std::vector<std::byte>& bytes) {
  const std::size_t head = header_bytes();
  if (limit < head) return -EINVAL;
  if (port_.has_failed()) return -EIO;
  if (received_.empty()) return std::nullopt;
  const Received& first = received_.front();
  ib_user_mad_hdr header = header_of(first.datagram, port_.pkeys());
  header.id = first.id;
  header.status = first.status;
  header.length = static_cast<std::uint32_t>(head + first.message.size());
  const std::size_t whole = header.length;
  if (limit < head + std::min<std::size_t>(first.message.size(), ib::kMadBytes)) return -EINVAL;
  const auto header_at = std::as_bytes(std::span(&header, 1)).first(head);
  bytes.assign(header_at.begin(), header_at.end());
  const std::size_t shown = limit < whole ? std::min<std::size_t>(first.message.size(), ib::kMadBytes) : first.message.size();
  bytes.insert(bytes.end(), first.message.begin(), first.message.begin() + static_cast<std::ptrdiff_t>(shown));
  if (limit < whole) return -ENOSPC;
  received_.pop_front();
  return static_cast<std::int64_t>(whole);
}

IoResult UmadFile::write(std::span<const std::byte> bytes) {
  const std::size_t head = header_bytes();
  if (bytes.size() < head + mad::kRmppEnd) return -EINVAL;
  ib_user_mad_hdr header{};
  std::memcpy(&header, bytes.data(), head);
  if (port_.has_failed()) return -EIO;
  if (header.id >= kAgents || agents_[header.id] == 0) return -EINVAL;
  if (has_pkey_index_ && header.pkey_index >= port_.pkeys().size()) return -EINVAL;
  management::MadAgents::Sending sending;
  sending.datagram = datagram_of(header, port_);
  sending.timeout_ms = header.timeout_ms;
  sending.retries = header.retries;
  MadBytes message(bytes.begin() + static_cast<std::ptrdiff_t>(head), bytes.end());
  const int error = port_.agents().send(agents_[header.id], sending, std::move(message));
  return error != 0 ? error : static_cast<std::int64_t>(bytes.size());
}

std::int64_t UmadFile::control_io(Process& process, std::uint64_t request, std::uint64_t address, Instant) {
  switch (request) {
    case IB_USER_MAD_REGISTER_AGENT:
      return register_agent(process, address);
    case IB_USER_MAD_REGISTER_AGENT2:
      return register_agent2(process, address);
    case IB_USER_MAD_UNREGISTER_AGENT:
      return remove_agent(process, address);
    case IB_USER_MAD_ENABLE_PKEY:
      if (has_registered_) return -EINVAL;
      has_pkey_index_ = true;
      return 0;
    default:
      return -ENOTTY;  // for ENOIOCTLCMD
  }
}

std::int64_t UmadFile::add_agent(const MadRegistration& registration) {
  const bool of_subnet = registration.queue == ib::kSubnetManagementQp;
  if (registration.queue.value > 1 || (of_subnet && !port_.has_subnet_management())) return -EINVAL;
  const auto free = std::ranges::find(agents_, 0u);
  if (free == agents_.end()) return -ENOMEM;
  const std::int64_t number = port_.agents().add(registration, *this);
  if (number < 0) return number;
  *free = static_cast<std::uint32_t>(number);
  has_registered_ = true;
  return free - agents_.begin();
}

namespace {

// The members that ib_user_mad_reg_req and ib_user_mad_reg_req2 share.
template <class Request>
MadRegistration registration_of(const Request& request) {
  MadRegistration registration;
  registration.queue = ib::Qpn{request.qpn};
  registration.management_class = request.mgmt_class;
  registration.class_version = request.mgmt_class_version;
  registration.rmpp_version = request.rmpp_version;
  return registration;
}

}  // namespace

std::int64_t UmadFile::register_agent(Process& process, std::uint64_t address) {
  auto request = process.memory().load<ib_user_mad_reg_req>(address);
  if (!request) return -EFAULT;
  MadRegistration registration = registration_of(*request);
  if (request->mgmt_class != 0) {
    for (int half = 1; half >= 0; --half) {
      registration.methods = registration.methods << 64 | std::bitset<128>(request->method_mask[half]);
    }
    registration.oui = static_cast<std::uint32_t>(request->oui[0] << 16 | request->oui[1] << 8 | request->oui[2]);
  }
  const std::int64_t id = add_agent(registration);
  if (id < 0) return id;
  request->id = static_cast<std::uint32_t>(id);
  return process.memory().store(address, *request) ? 0 : -EFAULT;
}

std::int64_t UmadFile::register_agent2(Process& process, std::uint64_t address) {
  auto request = process.memory().load<ib_user_mad_reg_req2>(address);
  if (!request) return -EFAULT;
  if ((request->flags & ~IB_USER_MAD_REG_FLAGS_CAP) != 0) {
    request->flags = IB_USER_MAD_REG_FLAGS_CAP;
    return process.memory().store(address, *request) ? -EINVAL : -EFAULT;
  }
  MadRegistration registration = registration_of(*request);
  registration.does_rmpp_itself = (request->flags & IB_USER_MAD_USER_RMPP) != 0;
  if (request->mgmt_class != 0) {
    if (request->oui > 0xffffff) return -EINVAL;
    registration.oui = request->oui;
    registration.methods = std::bitset<128>(request->method_mask[1]) << 64 | std::bitset<128>(request->method_mask[0]);
  }
  const std::int64_t id = add_agent(registration);
  if (id < 0) return id;
  request->id = static_cast<std::uint32_t>(id);
  return process.memory().store(address, *request) ? 0 : -EFAULT;
}

std::int64_t UmadFile::remove_agent(Process& process, std::uint64_t address) {
  const auto id = process.memory().load<std::uint32_t>(address);
  if (!id) return -EFAULT;
  if (*id >= kAgents || agents_[*id] == 0) return -EINVAL;
  port_.agents().remove(agents_[*id]);
  agents_[*id] = 0;
  return 0;
}

std::optional<std::uint32_t> UmadFile::slot_of(std::uint32_t agent) const {
  const auto found = std::ranges::find(agents_, agent);
  if (found == agents_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - agents_.begin());
}

void UmadFile::push(Received received) {
  received_.push_back(std::move(received));
  notify();
}

void UmadFile::on_message(std::uint32_t agent, const ib::ManagementDatagram& datagram, MadBytes message) {
  if (const auto slot = slot_of(agent)) push({*slot, 0, datagram, std::move(message)});
}

// Returns the header of the request only.
void UmadFile::on_unanswered(std::uint32_t agent, const ib::ManagementDatagram& datagram) {
  const auto slot = slot_of(agent);
  if (!slot) return;
  push({*slot, ETIMEDOUT, datagram, MadBytes(datagram.mad.begin(), datagram.mad.begin() + mad::kHeaderBytes)});
}

void UmadFile::on_last_close() {
  for (std::uint32_t& agent : agents_) {
    if (agent != 0) port_.agents().remove(agent);
    agent = 0;
  }
  received_.clear();
}

VirtualFilePtr open_port_management(std::string_view path, const std::vector<management::PortManagement*>& ports) {
  for (std::size_t device = 0; device < ports.size(); ++device) {
    if (path == umad_device(device)) return std::make_shared<UmadFile>(*ports[device]);
    if (path == issm_device(device)) return std::make_shared<IssmFile>(*ports[device]);
  }
  return nullptr;
}

}  // namespace verbatim::supervisor
