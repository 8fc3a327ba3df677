// The private node IBVERBS_PRIVATE_34, which rdma-core's provider libraries (libmlx5, libefa, libmlx4)
// import. Ordinary programs load these libraries, therefore every name must resolve. No device of theirs
// exists in a simulation, so the functions are never called for one.
#include <cerrno>
#include <cstdint>

#define VERBS_PRIVATE extern "C" __attribute__((visibility("default")))

// Kernel commands. There is no kernel device behind this library: they return an errno value and ignore their
// parameters.
#define UNSUPPORTED_COMMAND(name) \
  VERBS_PRIVATE int name() { return EOPNOTSUPP; }

UNSUPPORTED_COMMAND(execute_ioctl)
UNSUPPORTED_COMMAND(ibv_cmd_advise_mr)
UNSUPPORTED_COMMAND(ibv_cmd_alloc_dm)
UNSUPPORTED_COMMAND(ibv_cmd_alloc_mw)
UNSUPPORTED_COMMAND(ibv_cmd_alloc_pd)
UNSUPPORTED_COMMAND(ibv_cmd_attach_mcast)
UNSUPPORTED_COMMAND(ibv_cmd_close_xrcd)
UNSUPPORTED_COMMAND(ibv_cmd_create_ah)
UNSUPPORTED_COMMAND(ibv_cmd_create_counters)
UNSUPPORTED_COMMAND(ibv_cmd_create_cq)
UNSUPPORTED_COMMAND(ibv_cmd_create_cq_ex)
UNSUPPORTED_COMMAND(ibv_cmd_create_cq_ex2)
UNSUPPORTED_COMMAND(ibv_cmd_create_flow)
UNSUPPORTED_COMMAND(ibv_cmd_create_flow_action_esp)
UNSUPPORTED_COMMAND(ibv_cmd_create_qp)
UNSUPPORTED_COMMAND(ibv_cmd_create_qp_ex)
UNSUPPORTED_COMMAND(ibv_cmd_create_qp_ex2)
UNSUPPORTED_COMMAND(ibv_cmd_create_rwq_ind_table)
UNSUPPORTED_COMMAND(ibv_cmd_create_srq)
UNSUPPORTED_COMMAND(ibv_cmd_create_srq_ex)
UNSUPPORTED_COMMAND(ibv_cmd_create_wq)
UNSUPPORTED_COMMAND(ibv_cmd_dealloc_mw)
UNSUPPORTED_COMMAND(ibv_cmd_dealloc_pd)
UNSUPPORTED_COMMAND(ibv_cmd_dereg_mr)
UNSUPPORTED_COMMAND(ibv_cmd_destroy_ah)
UNSUPPORTED_COMMAND(ibv_cmd_destroy_counters)
UNSUPPORTED_COMMAND(ibv_cmd_destroy_cq)
UNSUPPORTED_COMMAND(ibv_cmd_destroy_flow)
UNSUPPORTED_COMMAND(ibv_cmd_destroy_flow_action)
UNSUPPORTED_COMMAND(ibv_cmd_destroy_qp)
UNSUPPORTED_COMMAND(ibv_cmd_destroy_rwq_ind_table)
UNSUPPORTED_COMMAND(ibv_cmd_destroy_srq)
UNSUPPORTED_COMMAND(ibv_cmd_destroy_wq)
UNSUPPORTED_COMMAND(ibv_cmd_detach_mcast)
UNSUPPORTED_COMMAND(ibv_cmd_free_dm)
UNSUPPORTED_COMMAND(ibv_cmd_get_context)
UNSUPPORTED_COMMAND(ibv_cmd_modify_cq)
UNSUPPORTED_COMMAND(ibv_cmd_modify_flow_action_esp)
UNSUPPORTED_COMMAND(ibv_cmd_modify_qp)
UNSUPPORTED_COMMAND(ibv_cmd_modify_qp_ex)
UNSUPPORTED_COMMAND(ibv_cmd_modify_srq)
UNSUPPORTED_COMMAND(ibv_cmd_modify_wq)
UNSUPPORTED_COMMAND(ibv_cmd_open_qp)
UNSUPPORTED_COMMAND(ibv_cmd_open_xrcd)
UNSUPPORTED_COMMAND(ibv_cmd_poll_cq)
UNSUPPORTED_COMMAND(ibv_cmd_post_recv)
UNSUPPORTED_COMMAND(ibv_cmd_post_send)
UNSUPPORTED_COMMAND(ibv_cmd_post_srq_recv)
UNSUPPORTED_COMMAND(ibv_cmd_query_context)
UNSUPPORTED_COMMAND(ibv_cmd_query_device_any)
UNSUPPORTED_COMMAND(ibv_cmd_query_mr)
UNSUPPORTED_COMMAND(ibv_cmd_query_port)
UNSUPPORTED_COMMAND(ibv_cmd_query_qp)
UNSUPPORTED_COMMAND(ibv_cmd_query_srq)
UNSUPPORTED_COMMAND(ibv_cmd_read_counters)
UNSUPPORTED_COMMAND(ibv_cmd_reg_dmabuf_mr)
UNSUPPORTED_COMMAND(ibv_cmd_reg_dm_mr)
UNSUPPORTED_COMMAND(ibv_cmd_reg_mr)
UNSUPPORTED_COMMAND(ibv_cmd_req_notify_cq)
UNSUPPORTED_COMMAND(ibv_cmd_rereg_mr)
UNSUPPORTED_COMMAND(ibv_cmd_resize_cq)

// Called by the constructors of provider libraries, whose drivers find no device.
VERBS_PRIVATE void verbs_register_driver_34(const void*) {}

VERBS_PRIVATE void verbs_set_ops(void*, const void*) {}
VERBS_PRIVATE void verbs_uninit_context(void*) {}
VERBS_PRIVATE void verbs_init_cq(void*, void*, void*, void*) {}
VERBS_PRIVATE void __verbs_log(void*, std::uint32_t, const char*, ...) {}
VERBS_PRIVATE unsigned __ioctl_final_num_attrs(unsigned attributes, void*) { return attributes; }

VERBS_PRIVATE void* _verbs_init_and_alloc_context(void*, int, std::uint64_t, void*, std::uint32_t) {
  errno = EOPNOTSUPP;
  return nullptr;
}

VERBS_PRIVATE void* verbs_open_device(void*, void*) {
  errno = EOPNOTSUPP;
  return nullptr;
}

VERBS_PRIVATE int ibv_read_ibdev_sysfs_file(char*, std::uint64_t, void*, const char*, ...) {
  errno = ENOENT;
  return -1;
}

extern "C" {
__attribute__((visibility("default"))) bool verbs_allow_disassociate_destroy = false;
}
