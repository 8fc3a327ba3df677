// The connection manager, absent: a program learns it where it asks first. Tools take ENODEV for "No RDMA
// devices were detected", which is true only outside a simulation; inside one, the devices are there and this
// is not. Calls that need an identifier cannot have got one; they answer EINVAL.
#include "verbs_shim/cm/cm_api.h"
#include "verbs_shim/runtime/runtime.h"

using verbatim::cm::fail;

namespace {

int reason() { return verbatim::shim::attached() ? EOPNOTSUPP : ENODEV; }

}  // namespace

// Ways in.
extern "C" rdma_event_channel* rdma_create_event_channel(void) {
  errno = reason();
  return nullptr;
}
extern "C" int rdma_create_id(rdma_event_channel*, rdma_cm_id**, void*, rdma_port_space) {
  return fail(reason());
}
extern "C" int rdma_create_ep(rdma_cm_id**, rdma_addrinfo*, ibv_pd*, ibv_qp_init_attr*) {
  return fail(reason());
}
extern "C" ibv_context** rdma_get_devices(int* count) {
  if (count != nullptr) *count = 0;
  errno = reason();
  return nullptr;
}

// Everything after them.
extern "C" void rdma_destroy_event_channel(rdma_event_channel*) {}
extern "C" void rdma_destroy_ep(rdma_cm_id*) {}
extern "C" int rdma_destroy_id(rdma_cm_id*) { return fail(EINVAL); }
extern "C" int rdma_bind_addr(rdma_cm_id*, sockaddr*) { return fail(EINVAL); }
extern "C" int rdma_resolve_addr(rdma_cm_id*, sockaddr*, sockaddr*, int) { return fail(EINVAL); }
extern "C" int rdma_resolve_route(rdma_cm_id*, int) { return fail(EINVAL); }
extern "C" int rdma_create_qp(rdma_cm_id*, ibv_pd*, ibv_qp_init_attr*) { return fail(EINVAL); }
extern "C" int rdma_create_qp_ex(rdma_cm_id*, ibv_qp_init_attr_ex*) { return fail(EINVAL); }
extern "C" void rdma_destroy_qp(rdma_cm_id*) {}
// Exported by the library, declared in no public header but its own.
extern "C" __attribute__((visibility("default"))) int rdma_create_srq(rdma_cm_id*, ibv_pd*,
                                                                      ibv_srq_init_attr*) {
  return fail(EINVAL);
}
extern "C" __attribute__((visibility("default"))) int rdma_create_srq_ex(rdma_cm_id*, ibv_srq_init_attr_ex*) {
  return fail(EINVAL);
}
extern "C" __attribute__((visibility("default"))) void rdma_destroy_srq(rdma_cm_id*) {}
extern "C" int rdma_connect(rdma_cm_id*, rdma_conn_param*) { return fail(EINVAL); }
extern "C" int rdma_establish(rdma_cm_id*) { return fail(EINVAL); }
extern "C" int rdma_listen(rdma_cm_id*, int) { return fail(EINVAL); }
extern "C" int rdma_get_request(rdma_cm_id*, rdma_cm_id**) { return fail(EINVAL); }
extern "C" int rdma_accept(rdma_cm_id*, rdma_conn_param*) { return fail(EINVAL); }
extern "C" int rdma_reject(rdma_cm_id*, const void*, uint8_t) { return fail(EINVAL); }
extern "C" int rdma_reject_ece(rdma_cm_id*, const void*, uint8_t) { return fail(EINVAL); }
extern "C" int rdma_notify(rdma_cm_id*, ibv_event_type) { return fail(EINVAL); }
extern "C" int rdma_disconnect(rdma_cm_id*) { return fail(EINVAL); }
extern "C" int rdma_join_multicast(rdma_cm_id*, sockaddr*, void*) { return fail(EINVAL); }
extern "C" int rdma_join_multicast_ex(rdma_cm_id*, rdma_cm_join_mc_attr_ex*, void*) { return fail(EINVAL); }
extern "C" int rdma_leave_multicast(rdma_cm_id*, sockaddr*) { return fail(EINVAL); }
extern "C" int rdma_get_cm_event(rdma_event_channel*, rdma_cm_event**) { return fail(EINVAL); }
extern "C" int rdma_ack_cm_event(rdma_cm_event*) { return fail(EINVAL); }
extern "C" __be16 rdma_get_src_port(rdma_cm_id*) { return 0; }
extern "C" __be16 rdma_get_dst_port(rdma_cm_id*) { return 0; }
extern "C" void rdma_free_devices(ibv_context**) {}
extern "C" int rdma_set_option(rdma_cm_id*, int, int, void*, size_t) { return fail(EINVAL); }
extern "C" int rdma_migrate_id(rdma_cm_id*, rdma_event_channel*) { return fail(EINVAL); }
extern "C" int rdma_init_qp_attr(rdma_cm_id*, ibv_qp_attr*, int*) { return fail(EINVAL); }
extern "C" int rdma_set_local_ece(rdma_cm_id*, ibv_ece*) { return fail(EINVAL); }
extern "C" int rdma_get_remote_ece(rdma_cm_id*, ibv_ece*) { return fail(EINVAL); }
