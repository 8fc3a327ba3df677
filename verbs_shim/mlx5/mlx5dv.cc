// All functions of libmlx5, with the results for an adapter of another vendor: programs that see a device
// named mlx5_0 call mlx5dv_is_supported, get false, and do not use mlx5 structures.
#pragma GCC visibility push(default)
#include <infiniband/mlx5dv.h>
#pragma GCC visibility pop

#undef mlx5dv_create_flow  // a macro of newer headers

#include <cerrno>
#include <cstring>
#include <type_traits>

#include "verbs_shim/runtime/runtime.h"

namespace {

using namespace verbatim;

// Makes the run warn of the call, once per process and function.
void report(const char* function) {
  if (!shim::attached()) return;
  protocol::ReportRefusal command{};
  command.header = {protocol::ReportRefusal::kType, sizeof command, 0, 0};
  std::strncpy(command.function, function, sizeof command.function - 1);
  shim::command(&command.header);
}

// Result of a function that fails: a null pointer, -1 for a byte count, else EOPNOTSUPP.
struct Refusal {
  template <typename Type>
  operator Type*() const { return nullptr; }
  operator int() const { return EOPNOTSUPP; }
  operator ssize_t() const { return -1; }
};

Refusal refuse(const char* function) {
  report(function);
  errno = EOPNOTSUPP;
  return {};
}

}  // namespace

extern "C" {

// Functions that the headers of rdma-core 44 do not declare.
#pragma GCC visibility push(default)
struct mlx5dv_export_sizes;
ibv_flow* __mlx5dv_create_flow(mlx5dv_flow_matcher*, mlx5dv_flow_match_parameters*, std::size_t, mlx5dv_flow_action_attr*,
                               std::size_t) {
  return refuse(__func__);
}
// Clears the sizes, as for a device without exports.
void _mlx5dv_get_export_sizes(mlx5dv_export_sizes* sizes, std::size_t size) {
  report(__func__);
  if (sizes != nullptr) std::memset(static_cast<void*>(sizes), 0, size);
}
int mlx5dv_devx_obj_export(mlx5dv_devx_obj*, void*) { return refuse(__func__); }
mlx5dv_devx_obj* mlx5dv_devx_obj_import(ibv_context*, void*) { return refuse(__func__); }
void mlx5dv_devx_obj_unimport(mlx5dv_devx_obj*) { report(__func__); }
int mlx5dv_devx_uar_export_dmabuf_fd(mlx5dv_devx_uar*) {
  refuse(__func__);
  return -1;
}
int mlx5dv_devx_umem_export(mlx5dv_devx_umem*, void*) { return refuse(__func__); }
mlx5dv_devx_umem* mlx5dv_devx_umem_import(ibv_context*, void*) { return refuse(__func__); }
void mlx5dv_devx_umem_unimport(mlx5dv_devx_umem*) { report(__func__); }
int mlx5dv_var_export(mlx5dv_var*, void*) { return refuse(__func__); }
mlx5dv_var* mlx5dv_var_import(ibv_context*, void*) { return refuse(__func__); }
void mlx5dv_var_unimport(mlx5dv_var*) { report(__func__); }
int mlx5dv_get_data_direct_sysfs_path(ibv_context*, char*, std::size_t) { return refuse(__func__); }
ibv_mr* mlx5dv_reg_dmabuf_mr(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, int, int) { return refuse(__func__); }
#pragma GCC visibility pop

ibv_dm* mlx5dv_alloc_dm(ibv_context*, ibv_alloc_dm_attr*, mlx5dv_alloc_dm_attr*) { return refuse(__func__); }
mlx5dv_var* mlx5dv_alloc_var(ibv_context*, std::uint32_t) { return refuse(__func__); }
ibv_cq_ex* mlx5dv_create_cq(ibv_context*, ibv_cq_init_attr_ex*, mlx5dv_cq_init_attr*) { return refuse(__func__); }
ibv_flow* mlx5dv_create_flow(mlx5dv_flow_matcher*, mlx5dv_flow_match_parameters*, std::size_t,
                             mlx5dv_flow_action_attr*) {
  return refuse(__func__);
}
ibv_flow_action* mlx5dv_create_flow_action_esp(ibv_context*, ibv_flow_action_esp_attr*, mlx5dv_flow_action_esp*) {
  return refuse(__func__);
}
ibv_flow_action* mlx5dv_create_flow_action_modify_header(ibv_context*, std::size_t, std::uint64_t*,
                                                         mlx5_ib_uapi_flow_table_type) {
  return refuse(__func__);
}
ibv_flow_action* mlx5dv_create_flow_action_packet_reformat(ibv_context*, std::size_t, void*,
                                                           mlx5_ib_uapi_flow_action_packet_reformat_type,
                                                           mlx5_ib_uapi_flow_table_type) {
  return refuse(__func__);
}
mlx5dv_flow_matcher* mlx5dv_create_flow_matcher(ibv_context*, mlx5dv_flow_matcher_attr*) { return refuse(__func__); }
mlx5dv_mkey* mlx5dv_create_mkey(mlx5dv_mkey_init_attr*) { return refuse(__func__); }
ibv_qp* mlx5dv_create_qp(ibv_context*, ibv_qp_init_attr_ex*, mlx5dv_qp_init_attr*) { return refuse(__func__); }
mlx5dv_steering_anchor* mlx5dv_create_steering_anchor(ibv_context*, mlx5dv_steering_anchor_attr*) {
  return refuse(__func__);
}
ibv_wq* mlx5dv_create_wq(ibv_context*, ibv_wq_init_attr*, mlx5dv_wq_init_attr*) { return refuse(__func__); }
int mlx5dv_crypto_login(ibv_context*, mlx5dv_crypto_login_attr*) { return refuse(__func__); }
mlx5dv_crypto_login_obj* mlx5dv_crypto_login_create(ibv_context*, mlx5dv_crypto_login_attr_ex*) {
  return refuse(__func__);
}
int mlx5dv_crypto_login_destroy(mlx5dv_crypto_login_obj*) { return refuse(__func__); }
int mlx5dv_crypto_login_query(mlx5dv_crypto_login_obj*, mlx5dv_crypto_login_query_attr*) { return refuse(__func__); }
int mlx5dv_crypto_login_query_state(ibv_context*, mlx5dv_crypto_login_state*) { return refuse(__func__); }
int mlx5dv_crypto_logout(ibv_context*) { return refuse(__func__); }
int mlx5dv_dci_stream_id_reset(ibv_qp*, std::uint16_t) { return refuse(__func__); }
mlx5dv_dek* mlx5dv_dek_create(ibv_context*, mlx5dv_dek_init_attr*) { return refuse(__func__); }
int mlx5dv_dek_destroy(mlx5dv_dek*) { return refuse(__func__); }
int mlx5dv_dek_query(mlx5dv_dek*, mlx5dv_dek_attr*) { return refuse(__func__); }
int mlx5dv_destroy_flow_matcher(mlx5dv_flow_matcher*) { return refuse(__func__); }
int mlx5dv_destroy_mkey(mlx5dv_mkey*) { return refuse(__func__); }
int mlx5dv_destroy_steering_anchor(mlx5dv_steering_anchor*) { return refuse(__func__); }
mlx5dv_devx_msi_vector* mlx5dv_devx_alloc_msi_vector(ibv_context*) { return refuse(__func__); }
mlx5dv_devx_uar* mlx5dv_devx_alloc_uar(ibv_context*, std::uint32_t) { return refuse(__func__); }
int mlx5dv_devx_cq_modify(ibv_cq*, const void*, std::size_t, void*, std::size_t) { return refuse(__func__); }
int mlx5dv_devx_cq_query(ibv_cq*, const void*, std::size_t, void*, std::size_t) { return refuse(__func__); }
mlx5dv_devx_cmd_comp* mlx5dv_devx_create_cmd_comp(ibv_context*) { return refuse(__func__); }
mlx5dv_devx_eq* mlx5dv_devx_create_eq(ibv_context*, const void*, std::size_t, void*, std::size_t) {
  return refuse(__func__);
}
mlx5dv_devx_event_channel* mlx5dv_devx_create_event_channel(ibv_context*,
                                                            mlx5_ib_uapi_devx_create_event_channel_flags) {
  return refuse(__func__);
}
void mlx5dv_devx_destroy_cmd_comp(mlx5dv_devx_cmd_comp*) { report(__func__); }
int mlx5dv_devx_destroy_eq(mlx5dv_devx_eq*) { return refuse(__func__); }
void mlx5dv_devx_destroy_event_channel(mlx5dv_devx_event_channel*) { report(__func__); }
int mlx5dv_devx_free_msi_vector(mlx5dv_devx_msi_vector*) { return refuse(__func__); }
void mlx5dv_devx_free_uar(mlx5dv_devx_uar*) { report(__func__); }
int mlx5dv_devx_general_cmd(ibv_context*, const void*, std::size_t, void*, std::size_t) { return refuse(__func__); }
int mlx5dv_devx_get_async_cmd_comp(mlx5dv_devx_cmd_comp*, mlx5_ib_uapi_devx_async_cmd_hdr*, std::size_t) {
  return refuse(__func__);
}
ssize_t mlx5dv_devx_get_event(mlx5dv_devx_event_channel*, mlx5_ib_uapi_devx_async_event_hdr*, std::size_t) {
  return refuse(__func__);
}
int mlx5dv_devx_ind_tbl_modify(ibv_rwq_ind_table*, const void*, std::size_t, void*, std::size_t) {
  return refuse(__func__);
}
int mlx5dv_devx_ind_tbl_query(ibv_rwq_ind_table*, const void*, std::size_t, void*, std::size_t) {
  return refuse(__func__);
}
mlx5dv_devx_obj* mlx5dv_devx_obj_create(ibv_context*, const void*, std::size_t, void*, std::size_t) {
  return refuse(__func__);
}
int mlx5dv_devx_obj_destroy(mlx5dv_devx_obj*) { return refuse(__func__); }
int mlx5dv_devx_obj_modify(mlx5dv_devx_obj*, const void*, std::size_t, void*, std::size_t) { return refuse(__func__); }
int mlx5dv_devx_obj_query(mlx5dv_devx_obj*, const void*, std::size_t, void*, std::size_t) { return refuse(__func__); }
int mlx5dv_devx_obj_query_async(mlx5dv_devx_obj*, const void*, std::size_t, std::size_t, std::uint64_t,
                                mlx5dv_devx_cmd_comp*) {
  return refuse(__func__);
}
int mlx5dv_devx_qp_modify(ibv_qp*, const void*, std::size_t, void*, std::size_t) { return refuse(__func__); }
int mlx5dv_devx_qp_query(ibv_qp*, const void*, std::size_t, void*, std::size_t) { return refuse(__func__); }
int mlx5dv_devx_query_eqn(ibv_context*, std::uint32_t, std::uint32_t*) { return refuse(__func__); }
int mlx5dv_devx_srq_modify(ibv_srq*, const void*, std::size_t, void*, std::size_t) { return refuse(__func__); }
int mlx5dv_devx_srq_query(ibv_srq*, const void*, std::size_t, void*, std::size_t) { return refuse(__func__); }
int mlx5dv_devx_subscribe_devx_event(mlx5dv_devx_event_channel*, mlx5dv_devx_obj*, std::uint16_t,
                                     std::uint16_t*, std::uint64_t) {
  return refuse(__func__);
}
int mlx5dv_devx_subscribe_devx_event_fd(mlx5dv_devx_event_channel*, int, mlx5dv_devx_obj*, std::uint16_t) {
  return refuse(__func__);
}
int mlx5dv_devx_umem_dereg(mlx5dv_devx_umem*) { return refuse(__func__); }
mlx5dv_devx_umem* mlx5dv_devx_umem_reg(ibv_context*, void*, std::size_t, std::uint32_t) { return refuse(__func__); }
mlx5dv_devx_umem* mlx5dv_devx_umem_reg_ex(ibv_context*, mlx5dv_devx_umem_in*) { return refuse(__func__); }
int mlx5dv_devx_wq_modify(ibv_wq*, const void*, std::size_t, void*, std::size_t) { return refuse(__func__); }
int mlx5dv_devx_wq_query(ibv_wq*, const void*, std::size_t, void*, std::size_t) { return refuse(__func__); }
void* mlx5dv_dm_map_op_addr(ibv_dm*, std::uint8_t) { return refuse(__func__); }
mlx5dv_dr_action* mlx5dv_dr_action_create_aso(mlx5dv_dr_domain*, mlx5dv_devx_obj*, std::uint32_t,
                                              std::uint32_t, std::uint8_t) {
  return refuse(__func__);
}
mlx5dv_dr_action* mlx5dv_dr_action_create_default_miss() { return refuse(__func__); }
mlx5dv_dr_action* mlx5dv_dr_action_create_dest_array(mlx5dv_dr_domain*, std::size_t, mlx5dv_dr_action_dest_attr**) {
  return refuse(__func__);
}
mlx5dv_dr_action* mlx5dv_dr_action_create_dest_devx_tir(mlx5dv_devx_obj*) { return refuse(__func__); }
mlx5dv_dr_action* mlx5dv_dr_action_create_dest_ib_port(mlx5dv_dr_domain*, std::uint32_t) { return refuse(__func__); }
mlx5dv_dr_action* mlx5dv_dr_action_create_dest_ibv_qp(ibv_qp*) { return refuse(__func__); }
mlx5dv_dr_action* mlx5dv_dr_action_create_dest_root_table(mlx5dv_dr_table*, std::uint16_t) { return refuse(__func__); }
mlx5dv_dr_action* mlx5dv_dr_action_create_dest_table(mlx5dv_dr_table*) { return refuse(__func__); }
mlx5dv_dr_action* mlx5dv_dr_action_create_dest_vport(mlx5dv_dr_domain*, std::uint32_t) { return refuse(__func__); }
mlx5dv_dr_action* mlx5dv_dr_action_create_drop() { return refuse(__func__); }
mlx5dv_dr_action* mlx5dv_dr_action_create_flow_counter(mlx5dv_devx_obj*, std::uint32_t) { return refuse(__func__); }
mlx5dv_dr_action* mlx5dv_dr_action_create_flow_meter(mlx5dv_dr_flow_meter_attr*) { return refuse(__func__); }
mlx5dv_dr_action* mlx5dv_dr_action_create_flow_sampler(mlx5dv_dr_flow_sampler_attr*) { return refuse(__func__); }
mlx5dv_dr_action* mlx5dv_dr_action_create_modify_header(mlx5dv_dr_domain*, std::uint32_t, std::size_t, __be64*) {
  return refuse(__func__);
}
mlx5dv_dr_action* mlx5dv_dr_action_create_packet_reformat(mlx5dv_dr_domain*, std::uint32_t,
                                                          mlx5_ib_uapi_flow_action_packet_reformat_type, std::size_t, void*) {
  return refuse(__func__);
}
mlx5dv_dr_action* mlx5dv_dr_action_create_pop_vlan() { return refuse(__func__); }
mlx5dv_dr_action* mlx5dv_dr_action_create_push_vlan(mlx5dv_dr_domain*, __be32) { return refuse(__func__); }
mlx5dv_dr_action* mlx5dv_dr_action_create_tag(std::uint32_t) { return refuse(__func__); }
int mlx5dv_dr_action_destroy(mlx5dv_dr_action*) { return refuse(__func__); }
int mlx5dv_dr_action_modify_aso(mlx5dv_dr_action*, std::uint32_t, std::uint32_t, std::uint8_t) {
  return refuse(__func__);
}
int mlx5dv_dr_action_modify_flow_meter(mlx5dv_dr_action*, mlx5dv_dr_flow_meter_attr*, __be64) {
  return refuse(__func__);
}
int mlx5dv_dr_aso_other_domain_link(mlx5dv_devx_obj*, mlx5dv_dr_domain*, mlx5dv_dr_domain*, std::uint32_t,
                                    std::uint8_t) {
  return refuse(__func__);
}
int mlx5dv_dr_aso_other_domain_unlink(mlx5dv_devx_obj*, mlx5dv_dr_domain*) { return refuse(__func__); }
void mlx5dv_dr_domain_allow_duplicate_rules(mlx5dv_dr_domain*, bool) { report(__func__); }
mlx5dv_dr_domain* mlx5dv_dr_domain_create(ibv_context*, mlx5dv_dr_domain_type) { return refuse(__func__); }
int mlx5dv_dr_domain_destroy(mlx5dv_dr_domain*) { return refuse(__func__); }
void mlx5dv_dr_domain_set_reclaim_device_memory(mlx5dv_dr_domain*, bool) { report(__func__); }
int mlx5dv_dr_domain_sync(mlx5dv_dr_domain*, std::uint32_t) { return refuse(__func__); }
mlx5dv_dr_matcher* mlx5dv_dr_matcher_create(mlx5dv_dr_table*, std::uint16_t, std::uint8_t,
                                            mlx5dv_flow_match_parameters*) {
  return refuse(__func__);
}
int mlx5dv_dr_matcher_destroy(mlx5dv_dr_matcher*) { return refuse(__func__); }
int mlx5dv_dr_matcher_set_layout(mlx5dv_dr_matcher*, mlx5dv_dr_matcher_layout*) { return refuse(__func__); }
mlx5dv_dr_rule* mlx5dv_dr_rule_create(mlx5dv_dr_matcher*, mlx5dv_flow_match_parameters*, std::size_t,
                                      mlx5dv_dr_action**) {
  return refuse(__func__);
}
int mlx5dv_dr_rule_destroy(mlx5dv_dr_rule*) { return refuse(__func__); }
mlx5dv_dr_table* mlx5dv_dr_table_create(mlx5dv_dr_domain*, std::uint32_t) { return refuse(__func__); }
int mlx5dv_dr_table_destroy(mlx5dv_dr_table*) { return refuse(__func__); }
int mlx5dv_dump_dr_domain(FILE*, mlx5dv_dr_domain*) { return refuse(__func__); }
int mlx5dv_dump_dr_matcher(FILE*, mlx5dv_dr_matcher*) { return refuse(__func__); }
int mlx5dv_dump_dr_rule(FILE*, mlx5dv_dr_rule*) { return refuse(__func__); }
int mlx5dv_dump_dr_table(FILE*, mlx5dv_dr_table*) { return refuse(__func__); }
void mlx5dv_free_var(mlx5dv_var*) { report(__func__); }
int mlx5dv_get_clock_info(ibv_context*, mlx5dv_clock_info*) { return refuse(__func__); }
ibv_device** mlx5dv_get_vfio_device_list(mlx5dv_vfio_context_attr*) { return refuse(__func__); }
// rdma-core has two versions, for structures with and without masks.
#pragma GCC visibility push(default)
int verbatim_init_obj_1_0(mlx5dv_obj*, std::uint64_t) { return refuse("mlx5dv_init_obj"); }
int verbatim_init_obj_1_2(mlx5dv_obj*, std::uint64_t) { return refuse("mlx5dv_init_obj"); }
#pragma GCC visibility pop
__asm__(".symver verbatim_init_obj_1_0, mlx5dv_init_obj@MLX5_1.0");
__asm__(".symver verbatim_init_obj_1_2, mlx5dv_init_obj@@MLX5_1.2");
// Programs call this first; a negative answer needs no warning.
bool mlx5dv_is_supported(ibv_device*) { return false; }
int mlx5dv_map_ah_to_qp(ibv_ah*, std::uint32_t) { return refuse(__func__); }
int _mlx5dv_mkey_check(mlx5dv_mkey*, mlx5dv_mkey_err*, std::size_t) { return refuse(__func__); }
int mlx5dv_modify_qp_lag_port(ibv_qp*, std::uint8_t) { return refuse(__func__); }
int mlx5dv_modify_qp_sched_elem(ibv_qp*, const mlx5dv_sched_leaf*, const mlx5dv_sched_leaf*) {
  return refuse(__func__);
}
int mlx5dv_modify_qp_udp_sport(ibv_qp*, std::uint16_t) { return refuse(__func__); }
ibv_context* mlx5dv_open_device(ibv_device*, mlx5dv_context_attr*) { return refuse(__func__); }
mlx5dv_pp* mlx5dv_pp_alloc(ibv_context*, std::size_t, const void*, std::uint32_t) { return refuse(__func__); }
void mlx5dv_pp_free(mlx5dv_pp*) { report(__func__); }
int mlx5dv_qp_cancel_posted_send_wrs(mlx5dv_qp_ex*, std::uint64_t) { return refuse(__func__); }
mlx5dv_qp_ex* mlx5dv_qp_ex_from_ibv_qp_ex(ibv_qp_ex*) { return refuse(__func__); }
// Succeeds without any capability, because perftest of Debian 13 treats an error as fatal.
int mlx5dv_query_device(ibv_context* context, mlx5dv_context* attributes) {
  if (context == nullptr || attributes == nullptr) return refuse(__func__);
  attributes->version = 0;
  attributes->flags = 0;
  attributes->comp_mask = 0;
  return 0;
}
int _mlx5dv_query_port(ibv_context*, std::uint32_t, mlx5_ib_uapi_query_port*, std::size_t) { return refuse(__func__); }
int mlx5dv_query_qp_lag_port(ibv_qp*, std::uint8_t*, std::uint8_t*) { return refuse(__func__); }
int mlx5dv_reserved_qpn_alloc(ibv_context*, std::uint32_t*) { return refuse(__func__); }
int mlx5dv_reserved_qpn_dealloc(ibv_context*, std::uint32_t) { return refuse(__func__); }
mlx5dv_sched_leaf* mlx5dv_sched_leaf_create(ibv_context*, const mlx5dv_sched_attr*) { return refuse(__func__); }
int mlx5dv_sched_leaf_destroy(mlx5dv_sched_leaf*) { return refuse(__func__); }
int mlx5dv_sched_leaf_modify(mlx5dv_sched_leaf*, const mlx5dv_sched_attr*) { return refuse(__func__); }
mlx5dv_sched_node* mlx5dv_sched_node_create(ibv_context*, const mlx5dv_sched_attr*) { return refuse(__func__); }
int mlx5dv_sched_node_destroy(mlx5dv_sched_node*) { return refuse(__func__); }
int mlx5dv_sched_node_modify(mlx5dv_sched_node*, const mlx5dv_sched_attr*) { return refuse(__func__); }
int mlx5dv_set_context_attr(ibv_context*, mlx5dv_set_ctx_attr_type, void*) { return refuse(__func__); }
int mlx5dv_vfio_get_events_fd(ibv_context*) { return refuse(__func__); }
int mlx5dv_vfio_process_events(ibv_context*) { return refuse(__func__); }

}  // extern "C"
