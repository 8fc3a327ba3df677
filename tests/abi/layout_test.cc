// Offsets and sizes of the fields that programs compiled against rdma-core 44 access directly, measured with
// the distribution's headers.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstddef>

#include "verbs_shim/protocol/commands.h"
#include "verbs_shim/protocol/region.h"

static_assert(sizeof(ibv_context_ops) == 256 && offsetof(ibv_context, ops) == 8);
static_assert(offsetof(ibv_context_ops, alloc_mw) == 0x38);
static_assert(offsetof(ibv_context_ops, poll_cq) == 0x58);
static_assert(offsetof(ibv_context_ops, req_notify_cq) == 0x60);
static_assert(offsetof(ibv_context_ops, post_srq_recv) == 0xa0);
static_assert(offsetof(ibv_context_ops, post_send) == 0xc8);
static_assert(offsetof(ibv_context_ops, post_recv) == 0xd0);
static_assert(sizeof(ibv_context) == 328 && offsetof(ibv_context, cmd_fd) == 264);
static_assert(offsetof(ibv_context, async_fd) == 268 && offsetof(ibv_context, num_comp_vectors) == 272);
static_assert(offsetof(ibv_context, abi_compat) == 320);
static_assert(sizeof(verbs_context) == 648 && offsetof(verbs_context, context) == 320);
static_assert(offsetof(verbs_context, sz) == 312 && offsetof(verbs_context, query_port) == 0);
static_assert(offsetof(verbs_context, create_cq_ex) == 200 && offsetof(verbs_context, create_qp_ex) == 264);
static_assert(offsetof(verbs_context, query_device_ex) == 216 && offsetof(verbs_context, close_xrcd) == 296);
static_assert(sizeof(ibv_device) == 664 && offsetof(ibv_device, name) == 24);
static_assert(offsetof(ibv_device, dev_path) == 152 && offsetof(ibv_device, ibdev_path) == 408);
static_assert(sizeof(ibv_qp) == 160 && offsetof(ibv_qp, qp_num) == 52 && offsetof(ibv_qp, state) == 56);
static_assert(sizeof(ibv_qp_ex) == 352 && offsetof(ibv_qp_ex, wr_id) == 168);
static_assert(offsetof(ibv_qp_ex, wr_start) == 320 && offsetof(ibv_qp_ex, wr_atomic_write) == 344);
static_assert(sizeof(ibv_cq) == 128 && offsetof(ibv_cq, comp_events_completed) == 120);
static_assert(sizeof(ibv_cq_ex) == 288 && offsetof(ibv_cq_ex, wr_id) == 136);
static_assert(offsetof(ibv_cq_ex, start_poll) == 144);
static_assert(offsetof(ibv_cq_ex, read_completion_wallclock_ns) == 280);
static_assert(sizeof(ibv_srq) == 128 && sizeof(ibv_mr) == 48 && sizeof(ibv_pd) == 16 && sizeof(ibv_ah) == 24);
static_assert(sizeof(ibv_comp_channel) == 16 && offsetof(ibv_comp_channel, fd) == 8);
static_assert(sizeof(ibv_wc) == 48 && sizeof(ibv_send_wr) == 128 && sizeof(ibv_recv_wr) == 32);
static_assert(sizeof(ibv_port_attr) == 52 && offsetof(ibv_port_attr, port_cap_flags2) == 48);
static_assert(sizeof(ibv_device_attr) == 232 && sizeof(ibv_device_attr_ex) == 400);
static_assert(sizeof(ibv_qp_attr) == 144 && sizeof(ibv_qp_init_attr) == 64 &&
              sizeof(ibv_qp_init_attr_ex) == 136);
static_assert(sizeof(rdma_cm_id) == 416 && sizeof(rdma_addrinfo) == 96 && sizeof(rdma_event_channel) == 4);

namespace {

TEST(layout, commands_fit_the_mailbox) {
  EXPECT_LE(sizeof(verbatim::protocol::ListDevices), verbatim::protocol::kMailboxSize);
  EXPECT_LE(sizeof(verbatim::protocol::QueryQp), verbatim::protocol::kMailboxSize);
}

// The kernel ABI of events, which a program may also read itself from the descriptors.
TEST(layout, events_have_the_kernel_s_size) {
  EXPECT_EQ(sizeof(verbatim::protocol::CompletionEvent), 8u);
  EXPECT_EQ(sizeof(verbatim::protocol::AsyncEvent), 16u);
}

}  // namespace
