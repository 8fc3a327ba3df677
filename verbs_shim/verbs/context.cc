// Opened devices: the function tables by which the inline functions of <infiniband/verbs.h> call this
// library.
#include <sys/syscall.h>

#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {
namespace {

// The _compat slots have had no caller since 2006; they return an error instead of being null.
void* unsupported_compat() { return refuse(EOPNOTSUPP); }
int unsupported_compat_query_device(ibv_context*, ibv_device_attr*) { return EOPNOTSUPP; }
int unsupported_compat_query_port(ibv_context*, std::uint8_t, _compat_ibv_port_attr*) { return EOPNOTSUPP; }

void fill_context_ops(ibv_context_ops* ops) {
  // All slots have the size of a pointer; the typed ones are set afterwards.
  auto** slots = reinterpret_cast<void* (**)()>(ops);
  for (std::size_t i = 0; i < sizeof(*ops) / sizeof(*slots); ++i) slots[i] = unsupported_compat;
  ops->_compat_query_device = unsupported_compat_query_device;
  ops->_compat_query_port = unsupported_compat_query_port;
  ops->alloc_mw = alloc_mw;
  ops->bind_mw = bind_mw;
  ops->dealloc_mw = dealloc_mw;
  ops->poll_cq = poll_cq;
  ops->req_notify_cq = req_notify_cq;
  ops->post_srq_recv = post_srq_recv;
  ops->post_send = post_send;
  ops->post_recv = post_recv;
}

void fill_verbs_ops(verbs_context* verbs) {
  fill_unsupported(verbs);
  verbs->query_port = query_port;
  verbs->query_device_ex = query_device_ex;
  verbs->query_rt_values = query_rt_values;
  verbs->create_cq_ex = create_cq_ex;
  verbs->modify_cq = modify_cq;
  verbs->create_qp_ex = create_qp_ex;
  verbs->open_qp = open_qp;
  verbs->create_srq_ex = create_srq_ex;
  verbs->post_srq_ops = post_srq_ops;
  verbs->get_srq_num = get_srq_num;
  verbs->open_xrcd = open_xrcd;
  verbs->close_xrcd = close_xrcd;
  verbs->advise_mr = advise_mr;
  verbs->alloc_null_mr = alloc_null_mr;
  verbs->alloc_dm = alloc_dm;
  verbs->free_dm = free_dm;
  verbs->reg_dm_mr = reg_dm_mr;
  verbs->alloc_td = alloc_td;
  verbs->dealloc_td = dealloc_td;
  verbs->alloc_parent_domain = alloc_parent_domain;
  verbs->create_wq = create_wq;
  verbs->modify_wq = modify_wq;
  verbs->destroy_wq = destroy_wq;
  verbs->create_rwq_ind_table = create_rwq_ind_table;
  verbs->destroy_rwq_ind_table = destroy_rwq_ind_table;
  verbs->ibv_create_flow = create_flow;
  verbs->ibv_destroy_flow = destroy_flow;
  verbs->create_counters = create_counters;
  verbs->destroy_counters = destroy_counters;
  verbs->attach_counters_point_flow = attach_counters_point_flow;
  verbs->read_counters = read_counters;
}

std::uint32_t bucket_of(std::uint32_t number) { return number % Context::kBuckets; }

}  // namespace

Qp* find_qp(Context& context, std::uint32_t number) {
  Qp* qp = context.qps[bucket_of(number)];
  while (qp != nullptr && public_qp(qp)->qp_num != number) qp = qp->next_in_bucket;
  return qp;
}

void add_qp(Context& context, Qp& qp) {
  Qp*& head = context.qps[bucket_of(public_qp(&qp)->qp_num)];
  qp.next_in_bucket = head;
  head = &qp;
}

void remove_qp(Context& context, Qp& qp) {
  Qp** link = &context.qps[bucket_of(public_qp(&qp)->qp_num)];
  while (*link != nullptr && *link != &qp) link = &(*link)->next_in_bucket;
  if (*link != nullptr) *link = qp.next_in_bucket;
}

ibv_context* make_context(ibv_device* device, std::uint32_t handle, int cmd_fd, int async_fd, std::uint32_t vectors) {
  auto* context = allocate_object<Context>();
  if (context == nullptr) return nullptr;
  context->handle = handle;
  context->process = shim::process_id();
  verbs_context& verbs = context->verbs;
  fill_verbs_ops(&verbs);
  verbs.sz = sizeof(verbs_context);
  fill_context_ops(&verbs.context.ops);
  verbs.context.device = device;
  verbs.context.cmd_fd = cmd_fd;
  verbs.context.async_fd = async_fd;
  verbs.context.num_comp_vectors = static_cast<int>(vectors);
  verbs.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  return &verbs.context;
}

}  // namespace verbatim::verbs

using namespace verbatim;

extern "C" ibv_context* ibv_open_device(ibv_device* device) {
  if (!shim::attached()) return verbs::refuse(ENOSYS);
  protocol::OpenDevice command{};
  if (int error = verbs::execute(command, reinterpret_cast<verbs::Device*>(device)->index)) {
    return verbs::refuse(error);
  }
  ibv_context* context = verbs::make_context(device, command.context, command.cmd_fd, command.async_fd,
                                             command.completion_vectors);
  if (context != nullptr) return context;
  protocol::CloseDevice close{};
  verbs::execute(close, command.context);
  return verbs::refuse(ENOMEM);
}

extern "C" int ibv_close_device(ibv_context* handle) {
  verbs::Context* context = verbs::context_of(handle);
  if (context == nullptr) return EINVAL;
  // The command ends the adapter's side; afterwards the descriptors' numbers are released.
  protocol::CloseDevice command{};
  verbs::execute(command, context->handle);
  shim::system_call(SYS_close, handle->async_fd);
  shim::system_call(SYS_close, handle->cmd_fd);
  verbs::release_object(context);
  return 0;
}
