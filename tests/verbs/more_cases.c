// Unreliable queue pairs, shared receive queues, completion events, and refused calls on objects.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "ends.h"

#define SAY_ERROR(call) say(" " #call "=%s", name_of_error(call))

static struct ibv_ah* ah;

// A datagram of A to B; `qkey` and `qpn` are XORed into the right values.
static int datagram(uint64_t id, uint32_t length, uint32_t qkey, uint32_t qpn) {
  struct ibv_sge sge = sge_of(&a, 0, length);
  struct ibv_send_wr wr = request(id, IBV_WR_SEND, &sge);
  wr.wr.ud.ah = ah;
  wr.wr.ud.remote_qkey ^= qkey;
  wr.wr.ud.remote_qpn ^= qpn;
  return post(&wr);
}

static void connect_datagrams(int global) {
  options.type = IBV_QPT_UD;
  connect_ends();
  ah = address_of_this_port(global);
}

static void finish_datagrams(const char* name) {
  settle();
  if (ibv_destroy_ah(ah) != 0) say(" the address handle stays");
  finish_ends(name);
}

void unreliable_cases(void) {
  for (int global = 0; global < 2; ++global) {
    connect_datagrams(global);
    post_recv(&b, 10, 2000);
    datagram(1, 100, 0, 0);
    finish_datagrams(global ? "datagram_with_global_header" : "datagram");
  }
  connect_datagrams(0);
  post_recv(&b, 10, 2000);
  datagram(1, 100, 1, 0);
  finish_datagrams("datagram_with_wrong_qkey");
  connect_datagrams(0);
  post_recv(&b, 10, 2000);
  datagram(1, 100, 0xc0000001, 0);
  finish_datagrams("datagram_with_the_queue_pairs_own_qkey");
  connect_datagrams(0);
  post_recv(&b, 10, 2000);
  datagram(1, 100, 0, 0x800000);
  finish_datagrams("datagram_to_nobody");
  connect_datagrams(0);
  datagram(1, 100, 0, 0);
  finish_datagrams("datagram_without_receive");
  connect_datagrams(0);
  post_recv(&b, 10, 139);
  post_recv(&b, 11, 2000);
  datagram(1, 100, 0, 0);
  finish_datagrams("datagram_longer_than_the_receive");
  connect_datagrams(0);
  datagram(1, 4097, 0, 0);
  datagram(2, 8, 0, 0);
  finish_datagrams("datagram_longer_than_the_mtu");

  options.type = IBV_QPT_UC;
  connect_ends();
  struct ibv_sge sge = sge_of(&a, 0, 8);
  struct ibv_send_wr wr = request(1, IBV_WR_RDMA_WRITE, &sge);
  wr.wr.rdma.rkey ^= 0x10;
  post(&wr);
  post_simple(2, IBV_WR_SEND, 8);
  settle();
  post_recv(&b, 10, 100);
  post_simple(3, IBV_WR_SEND, 9);
  finish_ends("unreliable_bad_rkey_and_missing_receive");
  options.type = IBV_QPT_UC;
  connect_ends();
  SAY_ERROR(post_simple(1, IBV_WR_RDMA_READ, 8));
  SAY_ERROR(post_simple(1, IBV_WR_ATOMIC_FETCH_AND_ADD, 8));
  finish_ends("unreliable_reads_are_refused");
}

static void write_to_itself(uint64_t id) {
  struct ibv_sge sge = sge_of(&a, 0, 8);
  struct ibv_send_wr wr = request(id, IBV_WR_RDMA_WRITE, &sge);
  wr.wr.rdma.remote_addr = (uintptr_t)a.buffer + 100;
  wr.wr.rdma.rkey = a.mr->rkey;
  if (post(&wr) != 0) say(" %d is not posted", (int)id);
}

// Extended completion queues: all supported attributes, and unknown ones.
static void extended_queue_cases(void) {
  connect_ends();
  for (int kind = 0; kind < 14; ++kind) {
    struct ibv_cq_init_attr_ex init = {.cqe = 4, .wc_flags = 1u << kind};
    if (kind == 13) init.wc_flags = 0xfff;
    struct ibv_cq_ex* cq = ibv_create_cq_ex(device, &init);
    say(" %d=%s", kind, cq == NULL ? name_of_error(errno) : "0");
    if (cq != NULL) ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
  }
  finish_ends("extended_completion_queue_flags");

  // Seven completions in a queue of four: only the queue that ignores overruns continues.
  for (int ignores = 0; ignores < 2; ++ignores) {
    connect_ends();
    struct ibv_cq_init_attr_ex init = {.cqe = 4,
                                       .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_CVLAN |
                                                   IBV_WC_EX_WITH_FLOW_TAG | IBV_WC_EX_WITH_TM_INFO};
    init.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
    init.flags = ignores ? IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN : 0;
    struct ibv_cq_ex* cq = ibv_create_cq_ex(device, &init);
    struct ibv_qp* const usual = a.qp;
    struct ibv_qp_init_attr made = {.send_cq = ibv_cq_ex_to_cq(cq),
                                    .recv_cq = a.recv_cq,
                                    .cap = {kDepth, kDepth, 2, 2, 64},
                                    .qp_type = IBV_QPT_RC,
                                    .sq_sig_all = 1};
    a.qp = ibv_create_qp(a.pd, &made);
    struct ibv_qp_attr attributes = {
        .port_num = 1, .path_mtu = IBV_MTU_1024, .ah_attr = {.dlid = port.lid, .port_num = 1}};
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    attributes.dest_qp_num = a.qp->qp_num;  // to itself
    attributes.timeout = 8;
    attributes.min_rnr_timer = 1;
    try_modify(a.qp, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, &attributes);
    try_modify(a.qp, IBV_QPS_RTR,
               IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                   IBV_QP_MIN_RNR_TIMER,
               &attributes);
    try_modify(a.qp, IBV_QPS_RTS,
               IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
               &attributes);
    for (unsigned i = 0; i < 3; ++i) write_to_itself(i);
    settle();
    struct ibv_poll_cq_attr none = {0};
    int found = ibv_start_poll(cq, &none) == 0;
    if (found) {
      struct ibv_wc_tm_info matched;
      ibv_wc_read_tm_info(cq, &matched);
      say(" vlan %u, flow %u, tag %d, priv %u", ibv_wc_read_cvlan(cq), ibv_wc_read_flow_tag(cq),
          (int)matched.tag, matched.priv);
      while (ibv_next_poll(cq) == 0) ++found;
      ibv_end_poll(cq);
    }
    for (unsigned i = 0; i < 7; ++i) write_to_itself(i);
    settle();
    struct ibv_qp_init_attr asked;
    ibv_query_qp(a.qp, &attributes, IBV_QP_STATE, &asked);
    say(" %d completions, then state %d", found, attributes.qp_state);
    ibv_destroy_qp(a.qp);
    a.qp = usual;
    ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
    finish_ends(ignores ? "an_overrun_that_is_ignored" : "an_overrun_that_is_not");
  }
}

static void multicast_cases(void) {
  const union ibv_gid group = {.raw = {0xff, 0x12, [15] = 1}};
  connect_datagrams(0);
  SAY_ERROR(ibv_attach_mcast(b.qp, &group, 0xc001));
  SAY_ERROR(ibv_attach_mcast(b.qp, &group, 0xc001));
  SAY_ERROR(ibv_attach_mcast(b.qp, &group, 0x1));
  SAY_ERROR(ibv_attach_mcast(b.qp, &gid, 0xc001));
  ibv_destroy_ah(ah);
  struct ibv_ah_attr address = {.dlid = 0xc001, .port_num = 1, .is_global = 1, .grh = {.dgid = group}};
  ah = ibv_create_ah(a.pd, &address);
  post_recv(&b, 10, 2000);
  post_recv(&b, 11, 2000);
  datagram(1, 100, 0, 0xffffff ^ b.qp->qp_num);
  settle();
  SAY_ERROR(ibv_destroy_qp(b.qp));
  SAY_ERROR(ibv_detach_mcast(b.qp, &group, 0xc001));
  SAY_ERROR(ibv_detach_mcast(b.qp, &group, 0xc001));
  datagram(2, 100, 0, 0xffffff ^ b.qp->qp_num);
  finish_datagrams("multicast");
}

void shared_cases(void) {
  multicast_cases();
  extended_queue_cases();

  options.srq = 1;
  connect_ends();
  for (unsigned i = 0; i < 4; ++i) post_recv(&b, 10 + i, 100);
  struct ibv_srq_attr attributes = {.srq_limit = 3};
  SAY_ERROR(ibv_modify_srq(b.srq, &attributes, IBV_SRQ_LIMIT));
  post_simple(1, IBV_WR_SEND, 8);
  post_simple(2, IBV_WR_SEND, 8);
  post_simple(3, IBV_WR_SEND, 8);
  settle();
  ibv_query_srq(b.srq, &attributes);
  say(" limit=%u", attributes.srq_limit);
  attributes.srq_limit = 9;
  SAY_ERROR(ibv_modify_srq(b.srq, &attributes, IBV_SRQ_LIMIT));
  finish_ends("shared_receives_below_the_limit");

  options.srq = 1;
  connect_ends();
  post_recv(&b, 10, 100);
  struct ibv_recv_wr wr = {0}, *bad;
  SAY_ERROR(ibv_post_recv(b.qp, &wr, &bad));
  SAY_ERROR(ibv_destroy_srq(b.srq));
  to_state(&b, IBV_QPS_ERR);
  finish_ends("shared_receives_are_not_flushed");
}

static int events_read(void) {
  struct ibv_cq* cq;
  void* context;
  int count = 0;
  while (ibv_get_cq_event(channel, &cq, &context) == 0) {
    ++count;
    ibv_ack_cq_events(cq, 1);
  }
  return count;
}

void event_cases(void) {
  options.cq_channel = 1;
  connect_ends();
  ibv_req_notify_cq(b.recv_cq, 0);
  for (unsigned i = 0; i < 3; ++i) post_recv(&b, 10 + i, 100);
  for (unsigned i = 0; i < 3; ++i) post_simple(i, IBV_WR_SEND, 8);
  settle();
  say(" %d", events_read());
  finish_ends("one_event_for_one_arming");

  options.cq_channel = 1;
  connect_ends();
  ibv_req_notify_cq(b.recv_cq, 1);
  post_recv(&b, 10, 100);
  post_recv(&b, 11, 100);
  post_simple(0, IBV_WR_SEND, 8);
  settle();
  say(" plain %d", events_read());
  struct ibv_sge sge = sge_of(&a, 0, 8);
  struct ibv_send_wr wr = request(1, IBV_WR_SEND, &sge);
  wr.send_flags |= IBV_SEND_SOLICITED;
  post(&wr);
  settle();
  say(" solicited %d", events_read());
  finish_ends("solicited_events_only");
}

static void modifications(void) {
  struct ibv_qp_attr attributes = {.port_num = 2};
  const int to_init = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  options.b_stops_at = -1;
  connect_ends();
  SAY_ERROR(try_modify(b.qp, IBV_QPS_INIT, to_init, &attributes));
  attributes = (struct ibv_qp_attr){.port_num = 1, .pkey_index = 128};
  SAY_ERROR(try_modify(b.qp, IBV_QPS_INIT, to_init, &attributes));
  SAY_ERROR(to_state(&b, IBV_QPS_ERR));
  SAY_ERROR(to_state(&b, IBV_QPS_RTR));
  finish_ends("modify_from_reset");

  const int to_rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  options.b_stops_at = IBV_QPS_INIT;
  connect_ends();
  static const char* const names[] = {"nothing", "mtu", "qpn", "rnr_timer", "rd_atomic", "dlid"};
  for (int kind = 5; kind >= 0; --kind) {
    attributes = (struct ibv_qp_attr){.path_mtu = IBV_MTU_1024, .ah_attr = {.dlid = port.lid, .port_num = 1}};
    attributes.dest_qp_num = a.qp->qp_num;
    if (kind == 1) attributes.path_mtu = 0;
    if (kind == 2) attributes.dest_qp_num = 1 << 24;
    if (kind == 3) attributes.min_rnr_timer = 32;
    if (kind == 4) attributes.max_dest_rd_atomic = 200;
    if (kind == 5) attributes.ah_attr.dlid = 0;
    say(" %s=%s", names[kind], name_of_error(try_modify(b.qp, IBV_QPS_RTR, to_rtr, &attributes)));
  }
  finish_ends("modify_to_rtr_with_a_bad");

  // The adapter uses the low 24 bits of a larger number.
  options.b_stops_at = IBV_QPS_INIT;
  connect_ends();
  attributes = (struct ibv_qp_attr){.path_mtu = IBV_MTU_1024, .ah_attr = {.dlid = port.lid, .port_num = 1}};
  attributes.dest_qp_num = a.qp->qp_num;
  attributes.min_rnr_timer = 1;
  attributes.rq_psn = 0x5000000;  // A starts with PSN 0
  say(" rtr=%s", name_of_error(try_modify(b.qp, IBV_QPS_RTR, to_rtr, &attributes)));
  attributes = (struct ibv_qp_attr){.timeout = 8, .retry_cnt = 1, .sq_psn = 0xff123456};
  const int to_rts =
      IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  say(" rts=%s", name_of_error(try_modify(b.qp, IBV_QPS_RTS, to_rts, &attributes)));
  struct ibv_qp_init_attr made;
  ibv_query_qp(b.qp, &attributes, IBV_QP_SQ_PSN | IBV_QP_RQ_PSN, &made);
  say(" sq_psn=%x rq_psn=%x", attributes.sq_psn, attributes.rq_psn);
  post_recv(&b, 10, 100);
  post_simple(1, IBV_WR_SEND, 8);
  finish_ends("psn_of_more_than_24_bits");

  connect_ends();
  attributes = (struct ibv_qp_attr){.cur_qp_state = IBV_QPS_SQD};
  SAY_ERROR(try_modify(a.qp, IBV_QPS_RTS, IBV_QP_CUR_STATE, &attributes));
  SAY_ERROR(try_modify(a.qp, IBV_QPS_RTS, IBV_QP_CAP, &attributes));
  SAY_ERROR(to_state(&a, IBV_QPS_SQE));
  SAY_ERROR(to_state(&a, IBV_QPS_INIT));
  finish_ends("modify_from_rts");
}

void object_cases(void) {
  modifications();
  connect_ends();
  SAY_ERROR(ibv_dealloc_pd(a.pd));
  SAY_ERROR(ibv_destroy_cq(a.send_cq));
  union ibv_gid group = {.raw = {0xff, 0x12, [15] = 1}};
  SAY_ERROR(ibv_attach_mcast(a.qp, &group, 0xc001));
  finish_ends("objects_in_use");

  connect_ends();
  static const struct {
    const char* name;
    size_t length;
    int access;
  } kinds[] = {{"empty", 0, IBV_ACCESS_LOCAL_WRITE},
               {"remote_write_only", 8, IBV_ACCESS_REMOTE_WRITE},
               {"remote_atomic_only", 8, IBV_ACCESS_REMOTE_ATOMIC},
               {"unknown_flag", 8, 1 << 8}};
  for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
    errno = 0;
    struct ibv_mr* mr = ibv_reg_mr(a.pd, a.buffer, kinds[i].length, kinds[i].access);
    say(" %s=%s", kinds[i].name, name_of_error(mr == NULL ? errno : 0));
  }
  errno = 0;
  struct ibv_mr* mr = ibv_reg_mr(a.pd, (void*)0x1000, 8, IBV_ACCESS_LOCAL_WRITE);
  say(" unmapped=%s", name_of_error(mr == NULL ? errno : 0));
  finish_ends("registrations_that_are_refused");

  connect_ends();
  const int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
  say(" %d", ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, rights));
  post_simple(1, IBV_WR_RDMA_READ, 8);
  settle();
  post_simple(2, IBV_WR_RDMA_WRITE, 8);
  finish_ends("a_region_registered_again_with_fewer_rights");

  connect_ends();
  struct ibv_qp_init_attr init = {
      .send_cq = a.send_cq, .recv_cq = a.recv_cq, .qp_type = IBV_QPT_RC, .cap = {1 << 20, 1, 1, 1, 0}};
  errno = 0;
  struct ibv_qp* qp = ibv_create_qp(a.pd, &init);
  say(" too_deep=%s", name_of_error(qp == NULL ? errno : 0));
  struct ibv_srq_init_attr shared = {.attr = {.max_wr = 4, .max_sge = 1}};
  struct ibv_srq* srq = ibv_create_srq(a.pd, &shared);
  init.cap.max_send_wr = 1;
  init.srq = srq;
  init.qp_type = IBV_QPT_UC;
  errno = 0;
  qp = ibv_create_qp(a.pd, &init);
  say(" unreliable_with_shared=%s", name_of_error(qp == NULL ? errno : 0));
  init.qp_type = (enum ibv_qp_type)77;
  errno = 0;
  qp = ibv_create_qp(a.pd, &init);
  say(" unknown_type=%s", name_of_error(qp == NULL ? errno : 0));
  if (ibv_destroy_srq(srq) != 0) say(" the shared queue stays");
  finish_ends("queue_pairs_that_are_refused");

  connect_ends();
  struct ibv_device_attr told;
  if (ibv_query_device(device, &told) != 0) say(" the device tells nothing");
  struct ibv_ece ece = {.vendor_id = 1, .options = 2, .comp_mask = 3};
  say(" query=%s", name_of_error(ibv_query_ece(a.qp, &ece)));
  say(" own_vendor=%d options=%u", ece.vendor_id == told.vendor_id, ece.options);
  ece.options = 0x30;
  say(" set=%s", name_of_error(ibv_set_ece(a.qp, &ece)));
  say(" accepted=%u", ece.options);
  ece.comp_mask = 1;
  say(" mask=%s", name_of_error(ibv_set_ece(a.qp, &ece)));
  ece.comp_mask = ece.vendor_id = 0;
  say(" nobody=%s", name_of_error(ibv_set_ece(a.qp, &ece)));
  finish_ends("options_of_enhanced_connections");

  // Only -1 means no file.
  connect_ends();
  for (int fd = -1; fd >= -2; --fd) {
    struct ibv_xrcd_init_attr domain = {
        .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = fd, .oflags = O_CREAT};
    errno = 0;
    struct ibv_xrcd* const xrcd = ibv_open_xrcd(device, &domain);
    say(" %d=%s", fd, name_of_error(xrcd == NULL ? errno : 0));
    if (xrcd != NULL && ibv_close_xrcd(xrcd) != 0) say(" the domain stays");
  }
  finish_ends("xrc_domains_by_descriptors");
}
