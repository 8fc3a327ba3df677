// Attributes of devices and ports, GID and P_Key tables, the HCA's clock.
#include <endian.h>

#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {
namespace {

void fill(ibv_device_attr* out, const protocol::DeviceAttributes& in) {
  std::memset(out, 0, sizeof(*out));
  std::memcpy(out->fw_ver, in.firmware_version, sizeof(out->fw_ver) - 1);
  out->node_guid = htobe64(in.node_guid);
  out->sys_image_guid = htobe64(in.sys_image_guid);
  out->max_mr_size = in.max_mr_size;
  out->page_size_cap = in.page_size_cap;
  out->vendor_id = in.vendor_id;
  out->vendor_part_id = in.vendor_part_id;
  out->hw_ver = in.hw_ver;
  out->max_qp = static_cast<int>(in.max_qp);
  out->max_qp_wr = static_cast<int>(in.max_qp_wr);
  out->device_cap_flags = static_cast<unsigned>(in.device_cap_flags);
  out->max_sge = static_cast<int>(in.max_sge);
  out->max_sge_rd = static_cast<int>(in.max_sge_rd);
  out->max_cq = static_cast<int>(in.max_cq);
  out->max_cqe = static_cast<int>(in.max_cqe);
  out->max_mr = static_cast<int>(in.max_mr);
  out->max_pd = static_cast<int>(in.max_pd);
  out->max_qp_rd_atom = static_cast<int>(in.max_qp_rd_atom);
  out->max_res_rd_atom = static_cast<int>(in.max_res_rd_atom);
  out->max_qp_init_rd_atom = static_cast<int>(in.max_qp_init_rd_atom);
  out->atomic_cap = static_cast<ibv_atomic_cap>(in.atomic_cap);
  out->max_mw = static_cast<int>(in.max_mw);
  out->max_mcast_grp = static_cast<int>(in.max_mcast_grp);
  out->max_mcast_qp_attach = static_cast<int>(in.max_mcast_qp_attach);
  out->max_total_mcast_qp_attach = static_cast<int>(in.max_mcast_grp * in.max_mcast_qp_attach);
  out->max_ah = static_cast<int>(in.max_ah);
  out->max_srq = static_cast<int>(in.max_srq);
  out->max_srq_wr = static_cast<int>(in.max_srq_wr);
  out->max_srq_sge = static_cast<int>(in.max_srq_sge);
  out->max_pkeys = in.max_pkeys;
  out->local_ca_ack_delay = in.local_ca_ack_delay;
  out->phys_port_cnt = in.port_count;
}

int query_gid_entry(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry* entry) {
  protocol::QueryGid command{};
  command.port = port;
  command.index = index;
  if (int error = execute(command, handle_of(context))) return error;
  std::memset(entry, 0, sizeof(*entry));
  std::memcpy(entry->gid.raw, command.gid, sizeof(command.gid));
  entry->gid_index = index;
  entry->port_num = port;
  entry->gid_type = command.gid_type;
  entry->ndev_ifindex = command.netdev_index;
  // An empty entry has no GID (ibv_query_gid_ex(3)).
  std::uint8_t any = 0;
  for (std::uint8_t byte : command.gid) any |= byte;
  return any == 0 ? ENODATA : 0;
}

}  // namespace

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes, std::size_t size) {
  protocol::QueryPort command{};
  command.port = port;
  if (int error = execute(command, handle_of(context))) return error;
  ibv_port_attr filled;
  std::memset(&filled, 0, sizeof(filled));
  filled.state = static_cast<ibv_port_state>(command.state);
  filled.max_mtu = static_cast<ibv_mtu>(command.max_mtu);
  filled.active_mtu = static_cast<ibv_mtu>(command.active_mtu);
  filled.gid_tbl_len = command.gid_table_length;
  filled.port_cap_flags = command.port_cap_flags;
  filled.max_msg_sz = command.max_message_size;
  filled.bad_pkey_cntr = command.bad_pkey_counter;
  filled.qkey_viol_cntr = command.qkey_violation_counter;
  filled.pkey_tbl_len = command.pkey_table_length;
  filled.lid = command.lid;
  filled.sm_lid = command.sm_lid;
  filled.lmc = command.lmc;
  filled.max_vl_num = command.max_vl_num;
  filled.sm_sl = command.sm_sl;
  filled.subnet_timeout = command.subnet_timeout;
  filled.init_type_reply = command.init_type_reply;
  filled.active_width = command.active_width;
  filled.active_speed = static_cast<std::uint8_t>(command.active_speed);
  filled.phys_state = command.phys_state;
  filled.link_layer = command.link_layer;
  filled.flags = command.flags;
  filled.port_cap_flags2 = static_cast<std::uint16_t>(command.port_cap_flags2);
  // A program built with newer headers may pass a longer struct.
  if (size > sizeof(filled)) std::memset(attributes, 0, size);
  std::memcpy(attributes, &filled, size < sizeof(filled) ? size : sizeof(filled));
  return 0;
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, std::size_t size) {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  if (size < offsetof(ibv_device_attr_ex, odp_caps)) return EINVAL;
  protocol::QueryDevice command{};
  if (int error = execute(command, handle_of(context))) return error;
  ibv_device_attr_ex filled;
  std::memset(&filled, 0, sizeof(filled));
  fill(&filled.orig_attr, command.attributes);
  filled.completion_timestamp_mask = command.attributes.completion_timestamp_mask;
  filled.hca_core_clock = command.attributes.hca_core_clock_khz;
  filled.device_cap_flags_ex = command.attributes.device_cap_flags;
  filled.phys_port_cnt_ex = command.attributes.port_count;
  filled.raw_packet_caps = command.attributes.raw_packet_caps;
  filled.max_wq_type_rq = command.attributes.max_wq;
  filled.rss_caps.supported_qpts = command.attributes.rss_qpts;
  filled.rss_caps.max_rwq_indirection_tables = command.attributes.max_rwq_tables;
  filled.rss_caps.max_rwq_indirection_table_size = command.attributes.max_rwq_table_size;
  filled.rss_caps.rx_hash_fields_mask = command.attributes.hash_fields;
  filled.rss_caps.rx_hash_function = static_cast<std::uint8_t>(command.attributes.hash_functions);
  filled.cq_mod_caps = {UINT16_MAX, protocol::ModifyCq::kMaxPeriodUs};
  filled.max_dm_size = command.attributes.max_dm_size;
  filled.odp_caps.general_caps = command.attributes.odp_general;
  filled.odp_caps.per_transport_caps.rc_odp_caps = command.attributes.odp_rc;
  filled.odp_caps.per_transport_caps.uc_odp_caps = command.attributes.odp_uc;
  filled.odp_caps.per_transport_caps.ud_odp_caps = command.attributes.odp_ud;
  filled.xrc_odp_caps = command.attributes.odp_xrc;
  if (command.attributes.max_num_tags > 0) {
    filled.tm_caps = {command.attributes.max_rendezvous_header, command.attributes.max_num_tags, IBV_TM_CAP_RC,
                      command.attributes.max_tag_operations, command.attributes.max_tag_sge};
  }
  if (size > sizeof(filled)) std::memset(attributes, 0, size);
  std::memcpy(attributes, &filled, size < sizeof(filled) ? size : sizeof(filled));
  return 0;
}

namespace {

// Rate of a lane in 100 Mb/s by a speed code of ibv_port_attr, as Linux reports it (ib_port_attr_to_speed_info()); 0: none.
std::uint32_t lane_speed(std::uint32_t code) {
  constexpr struct {
    std::uint32_t code, speed;
  } kSpeeds[] = {{1, 25}, {2, 50}, {4, 100}, {8, 100}, {16, 140}, {32, 250}, {64, 500}, {128, 1000}, {256, 2000}};
  for (const auto& row : kSpeeds) {
    if (row.code == code) return row.speed;
  }
  return 0;
}

std::uint32_t lanes_of(std::uint8_t width) {
  constexpr struct {
    std::uint8_t code, lanes;
  } kWidths[] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}};
  for (const auto& row : kWidths) {
    if (row.code == width) return row.lanes;
  }
  return 0;
}

}  // namespace

std::uint64_t core_clock_khz(Context& context) {
  if (context.core_clock_khz == 0) {
    protocol::QueryDevice command{};
    if (execute(command, context.handle) == 0) context.core_clock_khz = command.attributes.hca_core_clock_khz;
  }
  return context.core_clock_khz;
}

std::uint64_t core_clock_ticks(std::uint64_t khz, std::int64_t now_ps) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(now_ps) * khz / 1'000'000'000u);
}

int query_rt_values(ibv_context* handle, ibv_values_ex* values) {
  Context* context = context_of(handle);
  if (context == nullptr || (values->comp_mask & ~static_cast<unsigned>(IBV_VALUES_MASK_RAW_CLOCK)) != 0) {
    return EINVAL;
  }
  if ((values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) == 0) return 0;
  std::uint64_t khz = core_clock_khz(*context);
  if (khz == 0) return EOPNOTSUPP;
  // As the mlx5 provider reports it: ticks, not nanoseconds, in tv_nsec.
  shim::spend(shim::costs().clock_read_ps);
  values->raw_clock.tv_sec = 0;
  values->raw_clock.tv_nsec = static_cast<long>(core_clock_ticks(khz, shim::now_ps()));
  values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  return 0;
}

}  // namespace verbatim::verbs

using namespace verbatim;

extern "C" int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  protocol::QueryDevice command{};
  if (int error = verbs::execute(command, verbs::handle_of(context))) return error;
  verbs::fill(attributes, command.attributes);
  return 0;
}

// The exported function serves programs from before `port_cap_flags2`; the inline function uses the context's
// slot.
extern "C" int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attributes) {
  return verbs::query_port(context, port, reinterpret_cast<ibv_port_attr*>(attributes),
                           offsetof(ibv_port_attr, port_cap_flags2));
}

// In 100 Mb/s (ibv_query_port_speed(3)). Headers before rdma-core 62 do not declare it.
extern "C" __attribute__((visibility("default"))) int ibv_query_port_speed(ibv_context* context, std::uint32_t port,
                                                                           std::uint64_t* speed) {
  if (port > UINT8_MAX) return EINVAL;
  protocol::QueryPort command{};
  command.port = static_cast<std::uint8_t>(port);
  if (int error = verbs::execute(command, verbs::handle_of(context))) return error;
  *speed = std::uint64_t{verbs::lane_speed(command.active_speed)} * verbs::lanes_of(command.active_width);
  return *speed == 0 ? EINVAL : 0;
}

extern "C" int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index,
                                 ibv_gid_entry* entry, std::uint32_t flags, std::size_t entry_size) {
  if (flags != 0 || entry_size < sizeof(*entry)) return EINVAL;
  return verbs::query_gid_entry(context, port, index, entry);
}

extern "C" ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t max_entries,
                                        std::uint32_t flags, std::size_t entry_size) {
  if (flags != 0 || entry_size < sizeof(*entries)) return -EINVAL;
  std::uint32_t ports = reinterpret_cast<verbs::Device*>(context->device)->port_count;
  std::size_t found = 0;
  for (std::uint32_t port = 1; port <= ports; ++port) {
    ibv_port_attr attributes;
    if (int error =
            verbs::query_port(context, static_cast<std::uint8_t>(port), &attributes, sizeof(attributes))) {
      return -error;
    }
    for (int index = 0; index < attributes.gid_tbl_len; ++index) {
      ibv_gid_entry entry;
      int error = verbs::query_gid_entry(context, port, static_cast<std::uint32_t>(index), &entry);
      if (error == ENODATA) continue;
      if (error != 0) return -error;
      if (found == max_entries) return -EINVAL;
      std::memcpy(reinterpret_cast<std::byte*>(entries) + found * entry_size, &entry, sizeof(entry));
      ++found;
    }
  }
  return static_cast<ssize_t>(found);
}

extern "C" int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
  ibv_gid_entry entry;
  int error = verbs::query_gid_entry(context, port, static_cast<std::uint32_t>(index), &entry);
  if (error != 0 && error != ENODATA) {
    errno = error;
    return -1;
  }
  if (error == ENODATA) std::memset(&entry.gid, 0, sizeof(entry.gid));
  *gid = entry.gid;
  return 0;
}

// Private to rdma-core, used by ibv_devinfo and pyverbs: 0 is InfiniBand or RoCE v1, 1 is RoCE v2.
extern "C" __attribute__((visibility("default"))) int ibv_query_gid_type(ibv_context* context,
                                                                         std::uint8_t port, unsigned index,
                                                                         unsigned* type) {
  ibv_gid_entry entry;
  int error = verbs::query_gid_entry(context, port, index, &entry);
  if (error != 0 && error != ENODATA) {
    errno = error;
    return -1;
  }
  *type = error == 0 && entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 1 : 0;
  return 0;
}

extern "C" int ibv_query_pkey(ibv_context* context, std::uint8_t port, int index, __be16* pkey) {
  protocol::QueryPkey command{};
  command.port = port;
  command.index = static_cast<std::uint32_t>(index);
  if (int error = verbs::execute(command, verbs::handle_of(context))) {
    errno = error;
    return -1;
  }
  *pkey = htobe16(static_cast<std::uint16_t>(command.pkey));
  return 0;
}

extern "C" int ibv_get_pkey_index(ibv_context* context, std::uint8_t port, __be16 pkey) {
  for (int index = 0;; ++index) {
    __be16 entry;
    if (ibv_query_pkey(context, port, index, &entry) != 0) return -1;
    if (entry == pkey) return index;
  }
}
