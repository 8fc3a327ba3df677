// Address handles, and the conversion of a received datagram's addresses into those of a reply.
#include <endian.h>

#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {

protocol::AddressVector address_vector(const ibv_ah_attr& in) {
  protocol::AddressVector out{};
  out.dlid = in.dlid;
  out.service_level = in.sl;
  out.source_path_bits = in.src_path_bits;
  out.static_rate = in.static_rate;
  out.is_global = in.is_global;
  out.port = in.port_num;
  if (in.is_global != 0) {
    std::memcpy(out.dgid, in.grh.dgid.raw, sizeof(out.dgid));
    out.flow_label = in.grh.flow_label & 0xfffff;  // 20 bits; adapters ignore the other bits, and UCX sets all of them
    out.sgid_index = in.grh.sgid_index;
    out.hop_limit = in.grh.hop_limit;
    out.traffic_class = in.grh.traffic_class;
  }
  return out;
}

ibv_ah_attr ah_attributes(const protocol::AddressVector& in) {
  ibv_ah_attr out;
  std::memset(&out, 0, sizeof(out));
  std::memcpy(out.grh.dgid.raw, in.dgid, sizeof(in.dgid));
  out.grh.flow_label = in.flow_label;
  out.grh.sgid_index = in.sgid_index;
  out.grh.hop_limit = in.hop_limit;
  out.grh.traffic_class = in.traffic_class;
  out.dlid = in.dlid;
  out.sl = in.service_level;
  out.src_path_bits = in.source_path_bits;
  out.static_rate = in.static_rate;
  out.is_global = in.is_global;
  out.port_num = in.port;
  return out;
}

namespace {

// RoCEv2 over IPv4 stores the IP header in the last 20 of the 40 GRH bytes (IBA A17.4.5.1). It equals a GRH
// with IPv4-mapped GIDs. A GRH has version 6 in its first four bits; in the IPv4 case these bits are not
// written.
bool grh_of_ipv4(const ibv_grh& grh, ibv_grh* mapped) {
  std::uint8_t bytes[sizeof(grh)];
  std::memcpy(bytes, &grh, sizeof(grh));
  const std::uint8_t* ip = bytes + 20;
  if (bytes[0] >> 4 == 6 || ip[0] != 0x45) return false;
  std::memset(mapped, 0, sizeof(*mapped));
  mapped->version_tclass_flow = htobe32(6u << 28 | std::uint32_t{ip[1]} << 20);
  mapped->hop_limit = ip[8];
  for (ibv_gid* gid : {&mapped->sgid, &mapped->dgid}) gid->raw[10] = gid->raw[11] = 0xff;
  std::memcpy(&mapped->sgid.raw[12], ip + 12, 4);
  std::memcpy(&mapped->dgid.raw[12], ip + 16, 4);
  return true;
}

// Index of a GID in the port's table, or -1.
int find_gid(ibv_context* context, std::uint8_t port, const ibv_gid& gid) {
  ibv_port_attr attributes;
  if (query_port(context, port, &attributes, sizeof(attributes)) != 0) return -1;
  for (int index = 0; index < attributes.gid_tbl_len; ++index) {
    ibv_gid entry;
    if (ibv_query_gid(context, port, index, &entry) != 0) return -1;
    if (std::memcmp(&entry, &gid, sizeof(gid)) == 0) return index;
  }
  return -1;
}

}  // namespace
}  // namespace verbatim::verbs

using namespace verbatim;
using verbs::Ah;

extern "C" ibv_ah* ibv_create_ah(ibv_pd* pd_handle, ibv_ah_attr* attributes) {
  if (verbs::object<verbs::Pd>(pd_handle) == nullptr) return verbs::refuse(EINVAL);
  auto* ah = verbs::allocate_object<Ah>();
  if (ah == nullptr) return nullptr;
  protocol::CreateAh command{};
  command.pd = pd_handle->handle;
  command.address = verbs::address_vector(*attributes);
  if (int error = verbs::execute(command, verbs::handle_of(pd_handle->context))) {
    verbs::release_object(ah);
    return verbs::refuse(error);
  }
  ah->base.context = pd_handle->context;
  ah->base.pd = pd_handle;
  verbs::enter_domain(pd_handle);
  ah->base.handle = command.handle;
  return &ah->base;
}

extern "C" int ibv_destroy_ah(ibv_ah* handle) {
  auto* ah = verbs::object<Ah>(handle);
  if (ah == nullptr) return EINVAL;
  if (int error = verbs::destroy(protocol::CommandType::kDestroyAh, handle->context, handle->handle)) return error;
  verbs::leave_domain(handle->pd);
  verbs::release_object(ah);
  return 0;
}

// ibv_create_ah_from_wc(3): the reply's destination is the datagram's source, its source GID the datagram's
// destination.
extern "C" int ibv_init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc* completion, ibv_grh* grh,
                                   ibv_ah_attr* attributes) {
  std::memset(attributes, 0, sizeof(*attributes));
  attributes->dlid = completion->slid;
  attributes->sl = completion->sl;
  attributes->src_path_bits = completion->dlid_path_bits;
  attributes->port_num = port;
  if ((completion->wc_flags & IBV_WC_GRH) == 0) return 0;
  ibv_grh from_ipv4;
  if (verbs::grh_of_ipv4(*grh, &from_ipv4)) grh = &from_ipv4;
  int index = verbs::find_gid(context, port, grh->dgid);
  if (index < 0) {
    errno = EINVAL;
    return -1;
  }
  // IBA 8.3: 4 bits of version, 8 of traffic class, 20 of flow label.
  std::uint32_t word = be32toh(grh->version_tclass_flow);
  attributes->is_global = 1;
  attributes->grh.dgid = grh->sgid;
  attributes->grh.sgid_index = static_cast<std::uint8_t>(index);
  attributes->grh.flow_label = word & 0xfffff;
  attributes->grh.traffic_class = static_cast<std::uint8_t>(word >> 20);
  attributes->grh.hop_limit = grh->hop_limit;
  return 0;
}

extern "C" ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* completion, ibv_grh* grh, std::uint8_t port) {
  ibv_ah_attr attributes;
  if (ibv_init_ah_from_wc(pd->context, port, completion, grh, &attributes) != 0) return nullptr;
  return ibv_create_ah(pd, &attributes);
}

extern "C" int ibv_resolve_eth_l2_from_gid(ibv_context*, ibv_ah_attr*, std::uint8_t*, std::uint16_t*) {
  errno = EOPNOTSUPP;
  return EOPNOTSUPP;
}
