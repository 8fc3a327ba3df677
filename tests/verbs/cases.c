// The cases of the verbs' semantics, one line of output each: results of calls, completions of A's send queue
// and B's receive queue, both states, and the asynchronous events.
#include "cases.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ends.h"

#define SAY_ERROR(call) say(" " #call "=%s", name_of_error(call))

// --- keys, rights and ranges of remote memory

static void remote(const char* name, enum ibv_wr_opcode opcode, uint64_t offset, uint32_t key,
                   uint32_t length) {
  struct ibv_sge sge = sge_of(&a, 0, length);
  struct ibv_send_wr wr = request(1, opcode, &sge);
  wr.wr.rdma.remote_addr += offset;
  wr.wr.rdma.rkey ^= key;
  post(&wr);
  struct ibv_send_wr next = request(2, IBV_WR_RDMA_WRITE, &sge);
  next.send_flags = 0;
  post(&next);
  finish_ends(name);
}

static void remote_access(void) {
  connect_ends();
  remote("write_bad_rkey", IBV_WR_RDMA_WRITE, 0, 0x10, 8);
  connect_ends();
  remote("read_bad_rkey", IBV_WR_RDMA_READ, 0, 0x10, 8);
  connect_ends();
  remote("write_out_of_bounds", IBV_WR_RDMA_WRITE, kBufferBytes - 5000, 0, 5001);
  connect_ends();
  remote("write_before_the_region", IBV_WR_RDMA_WRITE, (uint64_t)-1, 0, 8);
  options.access_b = IBV_ACCESS_REMOTE_READ;
  connect_ends();
  remote("write_without_right_of_the_queue_pair", IBV_WR_RDMA_WRITE, 0, 0, 8);
  options.access_b = IBV_ACCESS_REMOTE_WRITE;
  connect_ends();
  remote("read_without_right_of_the_queue_pair", IBV_WR_RDMA_READ, 0, 0, 8);

  connect_ends();
  extra = ibv_reg_mr(b.pd, b.buffer, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
  remote("write_without_right_of_the_region", IBV_WR_RDMA_WRITE, 0, extra->rkey ^ b.mr->rkey, 8);
}

static void other_domains_and_stale_keys(void) {
  connect_ends();
  struct ibv_pd* pd = ibv_alloc_pd(device);
  extra = ibv_reg_mr(pd, b.buffer, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  remote("write_by_key_of_another_domain", IBV_WR_RDMA_WRITE, 0, extra->rkey ^ b.mr->rkey, 8);
  ibv_dealloc_pd(pd);
  connect_ends();
  struct ibv_mr* gone = ibv_reg_mr(b.pd, b.buffer, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  const uint32_t stale = gone->rkey ^ b.mr->rkey;
  ibv_dereg_mr(gone);
  remote("write_by_stale_key", IBV_WR_RDMA_WRITE, 0, stale, 8);
  connect_ends();
  remote("empty_write_by_bad_rkey", IBV_WR_RDMA_WRITE, 0, 0x10, 0);
  connect_ends();
  remote("empty_read_by_bad_rkey", IBV_WR_RDMA_READ, 0, 0x10, 0);
}

static void atomics(void) {
  connect_ends();
  struct ibv_sge sge = sge_of(&a, 0, 8);
  struct ibv_send_wr wr = request(1, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);
  wr.wr.atomic.remote_addr += 4;
  post(&wr);
  finish_ends("atomic_unaligned");
  connect_ends();
  say(" %s", name_of_error(post_simple(1, IBV_WR_ATOMIC_CMP_AND_SWP, 16)));
  finish_ends("atomic_of_16_bytes");
  connect_ends();
  say(" %s", name_of_error(post_simple(1, IBV_WR_ATOMIC_CMP_AND_SWP, 4)));
  finish_ends("atomic_of_4_bytes");
  options.access_b = IBV_ACCESS_REMOTE_WRITE;
  connect_ends();
  post_simple(1, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
  finish_ends("atomic_without_right");
  options.max_rd_atomic = -1;
  connect_ends();
  say(" %s", name_of_error(post_simple(1, IBV_WR_RDMA_READ, 8)));
  finish_ends("read_where_none_may_be_outstanding");
  options.max_dest_rd_atomic = 1;
  connect_ends();
  for (unsigned i = 1; i <= 3; ++i) post_simple(i, IBV_WR_RDMA_READ, 8192);
  finish_ends("more_reads_than_the_responder_has_resources");
}

// --- receives

static void receives(void) {
  connect_ends();
  post_recv(&b, 10, 100);
  post_recv(&b, 11, 100);
  post_simple(1, IBV_WR_SEND, 101);
  post_simple(2, IBV_WR_SEND, 8);
  finish_ends("message_longer_than_the_receive");

  connect_ends();
  struct ibv_sge sge = sge_of(&b, 0, 100);
  sge.lkey ^= 0x10;
  struct ibv_recv_wr wr = {.wr_id = 10, .sg_list = &sge, .num_sge = 1}, *bad;
  ibv_post_recv(b.qp, &wr, &bad);
  post_simple(1, IBV_WR_SEND, 8);
  finish_ends("receive_by_bad_lkey");

  connect_ends();
  extra = ibv_reg_mr(b.pd, b.buffer, 4096, 0);
  sge = sge_of(&b, 0, 100);
  sge.lkey = extra->lkey;
  ibv_post_recv(b.qp, &wr, &bad);
  post_simple(1, IBV_WR_SEND, 8);
  finish_ends("receive_into_a_region_without_local_write");

  connect_ends();
  post_recv(&b, 10, 100);
  post_simple(1, IBV_WR_RDMA_WRITE_WITH_IMM, 3000);
  finish_ends("write_with_immediate");

  connect_ends();
  post_recv(&b, 10, 100);
  post_simple(1, IBV_WR_SEND_WITH_IMM, 10);
  finish_ends("send_with_immediate");

  connect_ends();
  post_recv(&b, 10, 100);
  post_recv(&b, 11, 100);
  extra = ibv_reg_mr(b.pd, b.buffer, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  struct ibv_sge from = sge_of(&a, 0, 8);
  struct ibv_send_wr invalidate = request(1, IBV_WR_SEND_WITH_INV, &from);
  invalidate.invalidate_rkey = extra->rkey;
  post(&invalidate);
  struct ibv_send_wr write = request(2, IBV_WR_RDMA_WRITE, &from);
  write.wr.rdma.rkey = extra->rkey;
  post(&write);
  finish_ends("send_with_invalidate_of_a_region_then_write_by_that_key");

  connect_ends();
  post_recv(&b, 10, 100);
  invalidate.invalidate_rkey = 0x777;
  from = sge_of(&a, 0, 8);
  post(&invalidate);
  finish_ends("send_with_invalidate_of_a_bad_key");

  options.mtu_b = IBV_MTU_512;
  connect_ends();
  post_recv(&b, 10, 4096);
  post_simple(1, IBV_WR_SEND, 2000);
  finish_ends("path_mtu_mismatch");
}

static void missing_receives(void) {
  options.rnr_retry = 1;
  connect_ends();
  post_simple(1, IBV_WR_SEND, 8);
  post_simple(2, IBV_WR_RDMA_WRITE, 8);
  finish_ends("no_receive_and_one_retry");
  options.rnr_retry = -1;
  connect_ends();
  post_simple(1, IBV_WR_SEND, 8);
  finish_ends("no_receive_and_no_retry");
  connect_ends();
  post_simple(1, IBV_WR_SEND, 8);
  settle();
  post_recv(&b, 10, 100);
  finish_ends("no_receive_for_a_while");
  options.b_stops_at = -1;
  connect_ends();
  post_simple(1, IBV_WR_SEND, 8);
  post_simple(2, IBV_WR_RDMA_READ, 8);
  finish_ends("nobody_answers");
  options.b_stops_at = IBV_QPS_RTR;
  connect_ends();
  post_recv(&b, 10, 100);
  post_simple(1, IBV_WR_SEND, 8);
  finish_ends("receive_in_rtr");
}

// --- local checks of the sender

static void local_errors(void) {
  connect_ends();
  struct ibv_sge sge = sge_of(&a, 0, 8);
  sge.lkey ^= 0x10;
  struct ibv_send_wr wr = request(1, IBV_WR_RDMA_WRITE, &sge);
  post_simple(0, IBV_WR_RDMA_WRITE, 8);
  post(&wr);
  post_simple(2, IBV_WR_RDMA_WRITE, 8);
  finish_ends("write_by_bad_lkey");
  connect_ends();
  sge = sge_of(&a, kBufferBytes - 4, 8);
  wr = request(1, IBV_WR_RDMA_WRITE, &sge);
  wr.send_flags = 0;
  post(&wr);
  finish_ends("unsignaled_write_over_the_end");
  connect_ends();
  extra = ibv_reg_mr(a.pd, a.buffer, 4096, 0);
  sge = sge_of(&a, 0, 8);
  sge.lkey = extra->lkey;
  wr = request(1, IBV_WR_RDMA_READ, &sge);
  post(&wr);
  finish_ends("read_into_a_region_without_local_write");
  connect_ends();
  sge = sge_of(&a, 0, 8);
  wr = request(1, IBV_WR_RDMA_READ, &sge);
  wr.send_flags |= IBV_SEND_INLINE;
  SAY_ERROR(post(&wr));
  wr = request(1, IBV_WR_SEND, &sge);
  wr.num_sge = 31;
  SAY_ERROR(post(&wr));
  wr.num_sge = 1;
  wr.send_flags |= IBV_SEND_INLINE;
  sge.length = 200;
  SAY_ERROR(post(&wr));
  finish_ends("posts_that_are_refused");
}

// --- queues and states

static void queues(void) {
  connect_ends();
  struct ibv_sge sge = sge_of(&a, 0, 8);
  struct ibv_send_wr wr = request(1, IBV_WR_RDMA_WRITE, &sge);
  wr.send_flags = 0;
  int accepted = 0;
  while (accepted < 100 && post(&wr) == 0) ++accepted;
  settle();
  say(" %d, then %s, later %s", accepted, name_of_error(post(&wr)), name_of_error(post(&wr)));
  finish_ends("unsignaled_requests_keep_their_slots");

  connect_ends();
  wr = request(1, IBV_WR_RDMA_WRITE, &sge);
  sge = sge_of(&a, 0, 8);
  for (int i = 0; i < kDepth; ++i) {
    wr.send_flags = i == kDepth - 1 ? IBV_SEND_SIGNALED : 0;
    post(&wr);
  }
  settle();
  say(" before %s", name_of_error(post(&wr)));
  struct ibv_wc wc;
  if (ibv_poll_cq(a.send_cq, 1, &wc) != 1) say(" nothing to poll");
  for (accepted = 0; accepted < 100 && post(&wr) == 0;) ++accepted;
  say(", after the poll %d more", accepted);
  settle();
  while (ibv_poll_cq(a.send_cq, 1, &wc) == 1) continue;
  finish_ends("a_signaled_completion_frees_all_slots_before_it");

  connect_ends();
  for (accepted = 0; accepted < 100 && post_recv(&b, 10, 8) == 0;) ++accepted;
  say(" %d", accepted);
  to_state(&b, IBV_QPS_ERR);
  finish_ends("receives_are_flushed_on_the_way_to_err");

  connect_ends();
  to_state(&b, IBV_QPS_ERR);
  to_state(&a, IBV_QPS_ERR);
  SAY_ERROR(post_recv(&b, 10, 8));
  SAY_ERROR(post_simple(1, IBV_WR_SEND, 8));
  finish_ends("posts_in_err_are_flushed");

  options.cqe = 4;
  connect_ends();
  for (unsigned i = 0; i < kDepth; ++i) post_simple(i, IBV_WR_RDMA_WRITE, 8);
  finish_ends("send_completion_queue_overrun");

  options.cqe = 4;
  connect_ends();
  for (unsigned i = 0; i < kDepth; ++i) post_recv(&b, 10 + i, 8);
  struct ibv_sge empty = sge_of(&a, 0, 8);
  struct ibv_send_wr send = request(0, IBV_WR_SEND, &empty);
  send.send_flags = 0;
  for (unsigned i = 0; i < kDepth; ++i) post(&send);
  finish_ends("receive_completion_queue_overrun");

  connect_ends();
  struct ibv_qp_attr attributes = {.en_sqd_async_notify = 1};
  SAY_ERROR(try_modify(a.qp, IBV_QPS_SQD, IBV_QP_EN_SQD_ASYNC_NOTIFY, &attributes));
  SAY_ERROR(post_simple(1, IBV_WR_RDMA_WRITE, 8));
  settle();
  if (ibv_poll_cq(a.send_cq, 1, &wc) != 0) say(" sent while draining");
  SAY_ERROR(to_state(&a, IBV_QPS_RTS));
  finish_ends("sqd_and_back");

  options.sq_sig_all = 1;
  connect_ends();
  wr = request(1, IBV_WR_RDMA_WRITE, &sge);
  sge = sge_of(&a, 0, 8);
  wr.send_flags = 0;
  post(&wr);
  finish_ends("every_request_signaled");
}

static void resets(void) {
  options.one_cq = 1;
  connect_ends();
  for (unsigned i = 0; i < 6; ++i) {
    post_recv(&b, 10 + i, 100);
    post_simple(i, i % 3 == 0 ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND, 8);
  }
  settle();
  SAY_ERROR(to_state(&a, IBV_QPS_RESET));
  finish_ends("a_reset_takes_its_own_completions_out_of_a_common_queue");
}

static void post_states(void) {
  options.b_stops_at = -1;
  connect_ends();
  SAY_ERROR(post_recv(&b, 10, 8));
  struct ibv_qp* qp = a.qp;
  a.qp = b.qp;
  SAY_ERROR(post_simple(1, IBV_WR_SEND, 8));
  a.qp = qp;
  finish_ends("posts_in_reset");
  for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTR; ++state) {
    options.b_stops_at = (int)state;
    connect_ends();
    SAY_ERROR(post_recv(&b, 10, 8));
    qp = a.qp;
    a.qp = b.qp;
    SAY_ERROR(post_simple(1, IBV_WR_SEND, 8));
    a.qp = qp;
    finish_ends(state == IBV_QPS_INIT ? "posts_in_init" : "posts_in_rtr");
  }
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  struct ibv_device** list = ibv_get_device_list(NULL);
  device = list == NULL || list[0] == NULL ? NULL : ibv_open_device(list[0]);
  if (device == NULL || ibv_query_port(device, 1, &port) != 0 || ibv_query_gid(device, 1, 0, &gid) != 0) {
    printf("no device\n");
    return 1;
  }
  fcntl(device->async_fd, F_SETFL, fcntl(device->async_fd, F_GETFL) | O_NONBLOCK);
  channel = ibv_create_comp_channel(device);
  fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
  remote_access();
  other_domains_and_stale_keys();
  atomics();
  receives();
  missing_receives();
  local_errors();
  queues();
  resets();
  post_states();
  unreliable_cases();
  shared_cases();
  event_cases();
  object_cases();
  domain_cases();
  window_cases();
  memory_cases();
  allocator_cases();
  return 0;
}
