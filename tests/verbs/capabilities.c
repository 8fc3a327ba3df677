// A device's reported capabilities are true: each flag and each limit of ibv_query_device_ex(3) is tried, and
// unreported ones are refused. `capabilities infiniband` or `capabilities ethernet`.
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBytes = 4096 };

static struct ibv_context* context;
static struct ibv_device_attr_ex device;
static struct ibv_port_attr port;
static struct ibv_pd* pd;
static struct ibv_cq* cq;
static struct ibv_mr* mr;
static uint8_t memory[kBytes] __attribute__((aligned(4096)));
static union ibv_gid gid;
static int wrong;

#define EXPECT(condition)                                                                            \
  do {                                                                                               \
    if (!(condition)) {                                                                              \
      printf("line %d: %s does not hold, errno %d (%s)\n", __LINE__, #condition, errno, strerror(errno)); \
      ++wrong;                                                                                       \
    }                                                                                                \
  } while (0)

static struct ibv_qp* make_qp(enum ibv_qp_type type, uint32_t create_flags, uint64_t send_ops) {
  struct ibv_qp_init_attr_ex init = {.send_cq = cq, .recv_cq = cq, .cap = {8, 8, 1, 1, 0}, .qp_type = type, .pd = pd,
                                     .comp_mask = IBV_QP_INIT_ATTR_PD};
  if (create_flags != 0) init.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS, init.create_flags = create_flags;
  if (send_ops != 0) init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, init.send_ops_flags = send_ops;
  errno = 0;
  return ibv_create_qp_ex(context, &init);
}

static struct ibv_ah_attr to_self(void) {
  struct ibv_ah_attr path = {.dlid = port.lid, .port_num = 1, .is_global = 1};
  path.grh.dgid = gid;
  path.grh.hop_limit = 1;
  return path;
}

// To itself, up to RTS; `alternate`: with an alternate path.
static int connect_to_self(struct ibv_qp* qp, int alternate) {
  const int all = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = all};
  int error = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (error != 0) return error;
  attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = qp->qp_num,
                              .max_dest_rd_atomic = 4, .min_rnr_timer = 1, .ah_attr = to_self(), .alt_ah_attr = to_self(),
                              .alt_port_num = 1, .alt_timeout = 8};
  const int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                  IBV_QP_MIN_RNR_TIMER;
  error = ibv_modify_qp(qp, &attr, rtr | (alternate ? IBV_QP_ALT_PATH : 0));
  if (error != 0) return error;
  attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 8, .retry_cnt = 1, .rnr_retry = 1, .max_rd_atomic = 4,
                              .path_mig_state = IBV_MIG_REARM};
  const int rts = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  return ibv_modify_qp(qp, &attr, rts | (alternate ? IBV_QP_PATH_MIG_STATE : 0));
}

static enum ibv_wc_status run(struct ibv_qp* qp, struct ibv_send_wr* wr) {
  struct ibv_send_wr* bad;
  wr->send_flags |= IBV_SEND_SIGNALED;
  if (ibv_post_send(qp, wr, &bad) != 0) return IBV_WC_GENERAL_ERR;
  struct ibv_wc wc;
  do {
    while (ibv_poll_cq(cq, 1, &wc) == 0) {
    }
  } while (wc.wr_id != wr->wr_id);
  return wc.status;
}

static int migrates(void) {
  struct ibv_qp* qp = make_qp(IBV_QPT_RC, 0, 0);
  const int error = connect_to_self(qp, 1);
  ibv_destroy_qp(qp);
  return error == 0;
}

static int answers_rnr(void) {
  struct ibv_qp* qp = make_qp(IBV_QPT_RC, 0, 0);
  EXPECT(connect_to_self(qp, 0) == 0);
  struct ibv_send_wr send = {.wr_id = 1, .opcode = IBV_WR_SEND};
  const enum ibv_wc_status status = run(qp, &send);
  ibv_destroy_qp(qp);
  return status == IBV_WC_RNR_RETRY_EXC_ERR;
}

// Windows of a type; of type 2, its invalidation by the local side, too.
static int has_windows(enum ibv_mw_type type) {
  struct ibv_mw* mw = ibv_alloc_mw(pd, type);
  if (mw == NULL) return 0;
  struct ibv_qp* qp = make_qp(IBV_QPT_RC, 0, 0);
  EXPECT(connect_to_self(qp, 0) == 0);
  int works = 0;
  struct ibv_mw_bind_info part = {.mr = mr, .addr = (uintptr_t)memory, .length = 64, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
  if (type == IBV_MW_TYPE_1) {
    struct ibv_mw_bind bind = {.wr_id = 2, .send_flags = IBV_SEND_SIGNALED, .bind_info = part};
    struct ibv_wc wc;
    works = ibv_bind_mw(qp, mw, &bind) == 0;
    while (works && ibv_poll_cq(cq, 1, &wc) == 0) {
    }
    works = works && wc.status == IBV_WC_SUCCESS;
  } else {
    struct ibv_send_wr bind = {.wr_id = 3, .opcode = IBV_WR_BIND_MW, .bind_mw = {mw, ibv_inc_rkey(mw->rkey), part}};
    struct ibv_send_wr invalidate = {.wr_id = 4, .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = bind.bind_mw.rkey};
    works = run(qp, &bind) == IBV_WC_SUCCESS && run(qp, &invalidate) == IBV_WC_SUCCESS;
  }
  ibv_destroy_qp(qp);
  return ibv_dealloc_mw(mw) == 0 && works;
}
static int has_windows_of_type_1(void) { return has_windows(IBV_MW_TYPE_1); }
static int has_windows_of_type_2(void) { return has_windows(IBV_MW_TYPE_2); }

static int has_xrc(void) {
  struct ibv_xrcd_init_attr init = {.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};
  struct ibv_xrcd* xrcd = ibv_open_xrcd(context, &init);
  return xrcd != NULL && ibv_close_xrcd(xrcd) == 0;
}

static int can_make(enum ibv_qp_type type, uint32_t flags, uint64_t ops) {
  struct ibv_qp* qp = make_qp(type, flags, ops);
  return qp != NULL && ibv_destroy_qp(qp) == 0;
}
static int scatters_fcs(void) { return can_make(IBV_QPT_RAW_PACKET, IBV_QP_CREATE_SCATTER_FCS, 0); }
static int pads_writes(void) { return can_make(IBV_QPT_RAW_PACKET, IBV_QP_CREATE_PCI_WRITE_END_PADDING, 0); }
static int writes_atomically(void) { return can_make(IBV_QPT_RC, 0, IBV_QP_EX_WITH_ATOMIC_WRITE); }
static int has_image_guid(void) { return device.orig_attr.sys_image_guid != 0; }
static int always(void) { return 1; }  // a port that fails and recovers: tests/loss, link_test.cc

static int steers(void) {
  struct ibv_qp* qp = make_qp(IBV_QPT_RAW_PACKET, 0, 0);
  if (qp == NULL) return 0;
  struct ibv_flow_attr rule = {.type = IBV_FLOW_ATTR_NORMAL, .size = sizeof rule, .port = 1};
  struct ibv_flow* flow = ibv_create_flow(qp, &rule);
  return flow != NULL && ibv_destroy_flow(flow) == 0 && ibv_destroy_qp(qp) == 0;
}

static int resizes_queue_pairs(void) {
  struct ibv_qp* qp = make_qp(IBV_QPT_RC, 0, 0);
  EXPECT(connect_to_self(qp, 0) == 0);
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .cap = {16, 16, 1, 1, 0}};
  const int error = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP);
  ibv_destroy_qp(qp);
  return error == 0;
}

static int resizes_srqs(void) {
  struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
  struct ibv_srq* srq = ibv_create_srq(pd, &init);
  struct ibv_srq_attr attr = {.max_wr = 64};
  const int error = ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
  ibv_destroy_srq(srq);
  return error == 0;
}

static int computes_checksums(void) {
  struct ibv_qp* qp = make_qp(IBV_QPT_UD, 0, 0);
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 1};
  EXPECT(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) == 0);
  EXPECT((attr.qp_state = IBV_QPS_RTR, ibv_modify_qp(qp, &attr, IBV_QP_STATE)) == 0);
  EXPECT((attr.qp_state = IBV_QPS_RTS, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN)) == 0);
  struct ibv_ah_attr path = to_self();
  struct ibv_ah* ah = ibv_create_ah(pd, &path);
  EXPECT(ah != NULL);
  struct ibv_send_wr send = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_IP_CSUM, .wr.ud = {ah, qp->qp_num, 1}}, *bad;
  const int error = ibv_post_send(qp, &send, &bad);
  ibv_destroy_qp(qp);
  ibv_destroy_ah(ah);
  return error == 0;
}

// Both flags of the first 32 bits and of the rest.
static const struct {
  uint64_t flag;
  const char* name;
  int (*works)(void);
} flags[] = {
    {IBV_DEVICE_RESIZE_MAX_WR, "RESIZE_MAX_WR", resizes_queue_pairs},
    {IBV_DEVICE_AUTO_PATH_MIG, "AUTO_PATH_MIG", migrates},
    {IBV_DEVICE_PORT_ACTIVE_EVENT, "PORT_ACTIVE_EVENT", always},
    {IBV_DEVICE_SYS_IMAGE_GUID, "SYS_IMAGE_GUID", has_image_guid},
    {IBV_DEVICE_RC_RNR_NAK_GEN, "RC_RNR_NAK_GEN", answers_rnr},
    {IBV_DEVICE_SRQ_RESIZE, "SRQ_RESIZE", resizes_srqs},
    {IBV_DEVICE_MEM_WINDOW, "MEM_WINDOW", has_windows_of_type_1},
    {IBV_DEVICE_UD_IP_CSUM, "UD_IP_CSUM", computes_checksums},
    {IBV_DEVICE_XRC, "XRC", has_xrc},
    {IBV_DEVICE_MEM_MGT_EXTENSIONS, "MEM_MGT_EXTENSIONS", has_windows_of_type_2},
    {IBV_DEVICE_MEM_WINDOW_TYPE_2B, "MEM_WINDOW_TYPE_2B", has_windows_of_type_2},
    {IBV_DEVICE_MANAGED_FLOW_STEERING, "MANAGED_FLOW_STEERING", steers},
    {IBV_DEVICE_RAW_SCATTER_FCS, "RAW_SCATTER_FCS", scatters_fcs},
    {IBV_DEVICE_PCI_WRITE_END_PADDING, "PCI_WRITE_END_PADDING", pads_writes},
    {1ull << 40, "ATOMIC_WRITE", writes_atomically},
};

static void try_flags(void) {
  uint64_t told = device.device_cap_flags_ex;
  EXPECT((uint32_t)told == device.orig_attr.device_cap_flags);
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; ++i) {
    const int is_told = (told & flags[i].flag) != 0;
    const int works = flags[i].works();
    if (is_told != works) printf("%s: told %d, works %d\n", flags[i].name, is_told, works), ++wrong;
    told &= ~flags[i].flag;
  }
  if (told != 0) printf("nobody has tried %#llx\n", (unsigned long long)told), ++wrong;
}

static void try_limits(int is_ethernet) {
  // Device memory: all of it at once, and no more.
  struct ibv_alloc_dm_attr size = {.length = device.max_dm_size};
  struct ibv_dm* dm = ibv_alloc_dm(context, &size);
  EXPECT(dm != NULL && ibv_free_dm(dm) == 0);
  ++size.length;
  EXPECT(ibv_alloc_dm(context, &size) == NULL && errno == EINVAL);
  // Moderation of completion queues.
  const struct ibv_cq_moderation_caps* most = &device.cq_mod_caps;
  struct ibv_modify_cq_attr moderation = {IBV_CQ_ATTR_MODERATE, {most->max_cq_count, most->max_cq_period}};
  EXPECT(most->max_cq_count > 0 && ibv_modify_cq(cq, &moderation) == 0);
  ++moderation.moderate.cq_period;
  EXPECT(ibv_modify_cq(cq, &moderation) == EINVAL);
  moderation.attr_mask = 2;
  EXPECT(ibv_modify_cq(cq, &moderation) == EINVAL);
  // Ports.
  struct ibv_port_attr attr;
  EXPECT(device.phys_port_cnt_ex == 1 && device.orig_attr.phys_port_cnt == 1);
  EXPECT(ibv_query_port(context, 1, &attr) == 0 && ibv_query_port(context, 2, &attr) == EINVAL);
  // Clock and time stamps.
  struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
  EXPECT(device.hca_core_clock > 0 && device.completion_timestamp_mask != 0);
  EXPECT(ibv_query_rt_values_ex(context, &values) == 0 && values.raw_clock.tv_nsec > 0);
  struct ibv_cq_init_attr_ex stamped = {.cqe = 4, .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP};
  struct ibv_cq_ex* with_time = ibv_create_cq_ex(context, &stamped);
  EXPECT(with_time != NULL && ibv_destroy_cq(ibv_cq_ex_to_cq(with_time)) == 0);
  // Paging on demand, also of all that there is.
  EXPECT(device.odp_caps.general_caps == (IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT));
  struct ibv_mr* all = ibv_reg_mr(pd, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE);
  EXPECT(all != NULL && ibv_dereg_mr(all) == 0);
  // Tag matching.
  struct ibv_srq_init_attr_ex tagged = {.attr = {.max_wr = 4, .max_sge = 1}, .srq_type = IBV_SRQT_TM, .pd = pd, .cq = cq,
                                        .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
                                                     IBV_SRQ_INIT_ATTR_TM,
                                        .tm_cap = {device.tm_caps.max_num_tags, device.tm_caps.max_ops}};
  struct ibv_srq* srq = ibv_create_srq_ex(context, &tagged);
  EXPECT((srq != NULL) == (device.tm_caps.max_num_tags > 0));
  if (srq != NULL) EXPECT(ibv_destroy_srq(srq) == 0);
  tagged.tm_cap.max_num_tags = device.tm_caps.max_num_tags + 1;
  tagged.tm_cap.max_ops = device.tm_caps.max_ops;
  EXPECT(ibv_create_srq_ex(context, &tagged) == NULL);
  // Missing capabilities are zero, and refused.
  EXPECT(device.tso_caps.max_tso == 0 && device.tso_caps.supported_qpts == 0);
  struct ibv_qp_init_attr_ex tso = {.send_cq = cq, .recv_cq = cq, .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_UD, .pd = pd,
                                    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER, .max_tso_header = 64};
  EXPECT(ibv_create_qp_ex(context, &tso) == NULL && errno == EOPNOTSUPP);
  EXPECT(device.packet_pacing_caps.qp_rate_limit_max == 0 && device.packet_pacing_caps.supported_qpts == 0);
  EXPECT(device.pci_atomic_caps.fetch_add == 0 && device.pci_atomic_caps.swap == 0 && device.pci_atomic_caps.compare_swap == 0);
  const uint32_t raw = IBV_RAW_PACKET_CAP_CVLAN_STRIPPING | IBV_RAW_PACKET_CAP_SCATTER_FCS | IBV_RAW_PACKET_CAP_DELAY_DROP;
  EXPECT(device.raw_packet_caps == (is_ethernet ? raw : 0));
  EXPECT((device.rss_caps.supported_qpts != 0) == is_ethernet && (device.max_wq_type_rq != 0) == is_ethernet);
  struct ibv_wq_init_attr queue = {.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = pd, .cq = cq};
  struct ibv_wq* wq = ibv_create_wq(context, &queue);
  EXPECT((wq != NULL) == is_ethernet);
  if (wq != NULL) EXPECT(ibv_destroy_wq(wq) == 0);
}

int main(int count, char** arguments) {
  const int is_ethernet = count > 1 && strcmp(arguments[1], "ethernet") == 0;
  struct ibv_device** list = ibv_get_device_list(NULL);
  context = ibv_open_device(list[0]);
  EXPECT(context != NULL && ibv_query_device_ex(context, NULL, &device) == 0);
  EXPECT(ibv_query_port(context, 1, &port) == 0 && ibv_query_gid(context, 1, 0, &gid) == 0);
  pd = ibv_alloc_pd(context);
  cq = ibv_create_cq(context, 64, NULL, NULL, 0);
  mr = ibv_reg_mr(pd, memory, kBytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND);
  EXPECT(pd != NULL && cq != NULL && mr != NULL);
  try_flags();
  try_limits(is_ethernet);
  EXPECT(ibv_dereg_mr(mr) == 0 && ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  puts(wrong == 0 ? "right" : "wrong");
  return wrong != 0;
}
