// Names in the private nodes IBVERBS_PRIVATE_N of libibverbs, which rdma-core's provider libraries (libmlx5, libefa,
// libmlx4) and ibv_devinfo import. Ordinary programs load these libraries, therefore every name must resolve. No device of
// theirs exists in a simulation, so the functions are never called for one.
//
// rdma-core changes the node's number when one of these functions changes: 34 (rdma-core 34 to 56), 57 (57, 58),
// 59 (59 to 63), 64 and 65. The version script names one version of each symbol, for which programs are linked
// (private.cc). private_versions.cc has the others: a symbol with versions by .symver gets none by the version script, nor
// does another one at its address.
#pragma once

#define VERBS_PRIVATE extern "C" __attribute__((visibility("default")))

// Kernel commands. There is no kernel device behind this library: they return an errno value and ignore their
// parameters.
#define VERBATIM_PRIVATE_COMMANDS(X) \
  X(execute_ioctl) X(ibv_cmd_advise_mr) X(ibv_cmd_alloc_dm) X(ibv_cmd_alloc_mw) X(ibv_cmd_alloc_pd)                    \
  X(ibv_cmd_attach_mcast) X(ibv_cmd_close_xrcd) X(ibv_cmd_create_ah) X(ibv_cmd_create_counters) X(ibv_cmd_create_cq)   \
  X(ibv_cmd_create_cq_ex) X(ibv_cmd_create_cq_ex2) X(ibv_cmd_create_flow) X(ibv_cmd_create_flow_action_esp)            \
  X(ibv_cmd_create_qp) X(ibv_cmd_create_qp_ex) X(ibv_cmd_create_qp_ex2) X(ibv_cmd_create_rwq_ind_table)                \
  X(ibv_cmd_create_srq) X(ibv_cmd_create_srq_ex) X(ibv_cmd_create_wq) X(ibv_cmd_dealloc_mw) X(ibv_cmd_dealloc_pd)      \
  X(ibv_cmd_dereg_mr) X(ibv_cmd_destroy_ah) X(ibv_cmd_destroy_counters) X(ibv_cmd_destroy_cq) X(ibv_cmd_destroy_flow)  \
  X(ibv_cmd_destroy_flow_action) X(ibv_cmd_destroy_qp) X(ibv_cmd_destroy_rwq_ind_table) X(ibv_cmd_destroy_srq)         \
  X(ibv_cmd_destroy_wq) X(ibv_cmd_detach_mcast) X(ibv_cmd_free_dm) X(ibv_cmd_get_context) X(ibv_cmd_modify_cq)         \
  X(ibv_cmd_modify_flow_action_esp) X(ibv_cmd_modify_qp) X(ibv_cmd_modify_qp_ex) X(ibv_cmd_modify_srq)                 \
  X(ibv_cmd_modify_wq) X(ibv_cmd_open_qp) X(ibv_cmd_open_xrcd) X(ibv_cmd_poll_cq) X(ibv_cmd_post_recv)                 \
  X(ibv_cmd_post_send) X(ibv_cmd_post_srq_recv) X(ibv_cmd_query_context) X(ibv_cmd_query_device_any)                   \
  X(ibv_cmd_query_mr) X(ibv_cmd_query_port) X(ibv_cmd_query_qp) X(ibv_cmd_query_srq) X(ibv_cmd_read_counters)          \
  X(ibv_cmd_reg_dmabuf_mr) X(ibv_cmd_reg_dm_mr) X(ibv_cmd_reg_mr) X(ibv_cmd_req_notify_cq) X(ibv_cmd_rereg_mr)         \
  X(ibv_cmd_resize_cq)

// Those that the node 34 lacks. The version script has them in the node 65.
#define VERBATIM_NEWER_PRIVATE_COMMANDS(X) \
  X(ibv_cmd_alloc_dmah) X(ibv_cmd_create_comp_cntr) X(ibv_cmd_destroy_comp_cntr) X(ibv_cmd_export_dmabuf_fd)           \
  X(ibv_cmd_free_dmah) X(ibv_cmd_inc_comp_cntr) X(ibv_cmd_inc_err_comp_cntr) X(ibv_cmd_qp_attach_comp_cntr)            \
  X(ibv_cmd_query_comp_cntr_caps) X(ibv_cmd_query_port_speed) X(ibv_cmd_read_comp_cntr) X(ibv_cmd_read_err_comp_cntr)  \
  X(ibv_cmd_reg_mr_ex) X(ibv_cmd_set_comp_cntr) X(ibv_cmd_set_err_comp_cntr)
