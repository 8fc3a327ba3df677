#include "sim/supervisor/kernel/rdma_cm_abi.h"

#include <arpa/inet.h>
#include <infiniband/ib.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace verbatim::supervisor::rdma_cm_abi {

namespace {

cm::Address mapped(const in_addr& from, in_port_t port) {
  cm::Address address;
  address.family = cm::Family::kIpv4;
  address.ip.raw[10] = address.ip.raw[11] = 0xff;
  std::memcpy(address.ip.raw + 12, &from, sizeof from);
  address.port = ntohs(port);
  return address;
}

}  // namespace

cm::Address address_from(std::span<const std::byte> storage) {
  sa_family_t family;
  std::memcpy(&family, storage.data(), sizeof family);
  cm::Address address;
  const auto has_room_for = [&](const auto& in) { return storage.size() >= sizeof in; };
  if (family == AF_INET) {
    sockaddr_in in;
    if (!has_room_for(in)) return address;
    std::memcpy(&in, storage.data(), sizeof in);
    return mapped(in.sin_addr, in.sin_port);
  }
  if (family == AF_INET6) {
    sockaddr_in6 in;
    if (!has_room_for(in)) return address;
    std::memcpy(&in, storage.data(), sizeof in);
    address.family = cm::Family::kIpv6;
    std::memcpy(address.ip.raw, &in.sin6_addr, sizeof address.ip.raw);
    address.port = ntohs(in.sin6_port);
    address.scope = in.sin6_scope_id;
  } else if (family == AF_IB) {
    sockaddr_ib in;
    if (!has_room_for(in)) return address;
    std::memcpy(&in, storage.data(), sizeof in);
    address.family = cm::Family::kIb;
    std::memcpy(address.ip.raw, &in.sib_addr, sizeof address.ip.raw);
    address.pkey = ntohs(in.sib_pkey);
    address.flow_info = ntohl(in.sib_flowinfo);
    address.service_id = be64toh(in.sib_sid);
    address.service_mask = be64toh(in.sib_sid_mask);
    address.scope = in.sib_scope_id;
  }
  return address;
}

namespace {

template <class Name>
std::size_t store_name(const Name& name, std::span<std::byte> to) {
  std::memcpy(to.data(), &name, std::min(sizeof name, to.size()));
  return sizeof name;
}

}  // namespace

std::size_t store_address(const cm::Address& address, std::span<std::byte> to) {
  switch (address.family) {
    case cm::Family::kIpv4: {
      sockaddr_in in{};
      in.sin_family = AF_INET;
      in.sin_port = htons(address.port);
      std::memcpy(&in.sin_addr, address.ip.raw + 12, sizeof in.sin_addr);
      return store_name(in, to);
    }
    case cm::Family::kIpv6: {
      sockaddr_in6 in{};
      in.sin6_family = AF_INET6;
      in.sin6_port = htons(address.port);
      std::memcpy(&in.sin6_addr, address.ip.raw, sizeof in.sin6_addr);
      in.sin6_scope_id = static_cast<std::uint32_t>(address.scope);
      return store_name(in, to);
    }
    case cm::Family::kIb: {
      sockaddr_ib in{};
      in.sib_family = AF_IB;
      in.sib_pkey = htons(address.pkey);
      in.sib_flowinfo = htonl(address.flow_info);
      std::memcpy(&in.sib_addr, address.ip.raw, sizeof in.sib_addr);
      in.sib_sid = htobe64(address.service_id);
      in.sib_sid_mask = htobe64(address.service_mask);
      in.sib_scope_id = address.scope;
      return store_name(in, to);
    }
    case cm::Family::kNone:
      break;
  }
  return 0;
}

cm::ConnectionParameters parameters_from(const rdma_ucm_conn_param& from, const rdma_ucm_ece& ece) {
  cm::ConnectionParameters to;
  to.qpn = from.qp_num & 0xffffff;
  to.qkey = from.qkey;
  const auto bytes = std::as_bytes(std::span(from.private_data)).first(from.private_data_len);
  to.private_data.assign(bytes.begin(), bytes.end());
  to.srq = from.srq != 0;
  to.responder_resources = from.responder_resources;
  to.initiator_depth = from.initiator_depth;
  to.flow_control = from.flow_control;
  to.retry_count = from.retry_count;
  to.rnr_retry_count = from.rnr_retry_count;
  to.ece_vendor = ece.vendor_id;
  to.ece_options = ece.attr_mod;
  return to;
}

ib_uverbs_ah_attr address_handle_of(const management::Path& path, std::uint8_t sgid_index) {
  ib_uverbs_ah_attr to{};
  to.dlid = path.dlid.value;
  to.sl = path.service_level;
  to.static_rate = path.rate;
  to.port_num = 1;
  if (!path.is_global()) return to;
  to.is_global = 1;
  std::memcpy(to.grh.dgid, path.dgid.raw, sizeof to.grh.dgid);
  to.grh.flow_label = path.flow_label;
  to.grh.sgid_index = sgid_index;
  to.grh.hop_limit = path.hop_limit;
  to.grh.traffic_class = path.traffic_class;
  return to;
}

}  // namespace verbatim::supervisor::rdma_cm_abi
