// A host of a multicast group: "multicast GID_INDEX GROUP ATTACHED [send]". The first ATTACHED of three
// datagram queue pairs join. After a while a sender sends one datagram, and another when the first member has
// left. Each host prints the datagrams that each queue pair has received.
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kPairs = 3, kBytes = 200, kSlot = 512, kQkey = 0x11111111, kMulticastQpn = 0xffffff, kLid = 0xc005 };

static struct ibv_pd* pd;
static struct ibv_mr* mr;
static struct ibv_cq* cqs[kPairs];
static struct ibv_qp* qps[kPairs];
static uint8_t buffer[kPairs * 2 * kSlot + kBytes];
static union ibv_gid group;

static void fail(const char* what) {
  printf("%s: %s\n", what, strerror(errno));
  exit(1);
}

static void sleep_until_ms(long ms) {
  const struct timespec at = {ms / 1000, ms % 1000 * 1000000};
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const struct timespec until = {now.tv_sec - now.tv_sec % 10 + at.tv_sec, at.tv_nsec};
  clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL);
}

static void make(int i) {
  cqs[i] = ibv_create_cq(pd->context, 8, NULL, NULL, 0);
  struct ibv_qp_init_attr init = {
      .send_cq = cqs[i], .recv_cq = cqs[i], .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_UD, .sq_sig_all = 1};
  qps[i] = cqs[i] == NULL ? NULL : ibv_create_qp(pd, &init);
  if (qps[i] == NULL) fail("create");
  struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = kQkey};
  errno = ibv_modify_qp(qps[i], &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
  if (errno != 0) fail("INIT");
  to.qp_state = IBV_QPS_RTR;
  errno = ibv_modify_qp(qps[i], &to, IBV_QP_STATE);
  if (errno != 0) fail("RTR");
  to.qp_state = IBV_QPS_RTS;
  errno = ibv_modify_qp(qps[i], &to, IBV_QP_STATE | IBV_QP_SQ_PSN);
  if (errno != 0) fail("RTS");
  for (int n = 0; n < 2; ++n) {
    struct ibv_sge sge = {(uintptr_t)&buffer[(2 * i + n) * kSlot], kSlot, mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = (uint64_t)(2 * i + n), .sg_list = &sge, .num_sge = 1}, *bad;
    if (ibv_post_recv(qps[i], &wr, &bad) != 0) fail("receive");
  }
}

static void send_one(uint8_t gid_index, uint8_t mark) {
  struct ibv_ah_attr address = {.dlid = kLid, .port_num = 1, .is_global = 1};
  address.grh = (struct ibv_global_route){.dgid = group, .sgid_index = gid_index, .hop_limit = 1};
  struct ibv_ah* ah = ibv_create_ah(pd, &address);
  if (ah == NULL) fail("ibv_create_ah");
  uint8_t* data = &buffer[kPairs * 2 * kSlot];
  memset(data, mark, kBytes);
  struct ibv_sge sge = {(uintptr_t)data, kBytes, mr->lkey};
  struct ibv_send_wr wr = {.wr_id = 100, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
  wr.wr.ud.ah = ah;
  wr.wr.ud.remote_qpn = kMulticastQpn;
  wr.wr.ud.remote_qkey = kQkey;
  if (ibv_post_send(qps[kPairs - 1], &wr, &bad) != 0) fail("ibv_post_send");
  struct ibv_wc wc;
  while (ibv_poll_cq(cqs[kPairs - 1], 1, &wc) == 0) {
  }
  printf("sent %d\n", wc.status);
  ibv_destroy_ah(ah);
}

// The group's address is in the GRH, or in the IPv4 header, which is its last 20 bytes.
static int names_group(const uint8_t* grh) {
  const int is_ipv4 = group.raw[0] != 0xff;
  return is_ipv4 ? memcmp(grh + 36, group.raw + 12, 4) == 0 : memcmp(grh + 24, group.raw, 16) == 0;
}

static void tell(void) {
  for (int i = 0; i < kPairs; ++i) {
    struct ibv_wc wc;
    int count = 0, good = 0;
    while (ibv_poll_cq(cqs[i], 1, &wc) == 1) {
      const uint8_t* slot = &buffer[wc.wr_id * kSlot];
      ++count;
      good += wc.status == IBV_WC_SUCCESS && wc.byte_len == 40 + kBytes && (wc.wc_flags & IBV_WC_GRH) != 0 &&
              names_group(slot) && slot[40] != 0 && slot[40] == slot[39 + kBytes];
    }
    printf(" %d", count == good ? count : -1);
  }
  printf("\n");
}

int main(int count, char** words) {
  if (count < 4) return 2;
  const uint8_t gid_index = (uint8_t)atoi(words[1]);
  const int attached = atoi(words[3]);
  if (inet_pton(AF_INET6, words[2], group.raw) != 1) return 2;
  struct ibv_device** devices = ibv_get_device_list(NULL);
  struct ibv_context* device = ibv_open_device(devices[0]);
  pd = ibv_alloc_pd(device);
  mr = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
  if (mr == NULL) fail("ibv_reg_mr");
  for (int i = 0; i < kPairs; ++i) make(i);
  for (int i = 0; i < attached; ++i) {
    errno = ibv_attach_mcast(qps[i], &group, kLid);
    if (errno != 0) fail("ibv_attach_mcast");
  }
  sleep_until_ms(200);
  if (count > 4) send_one(gid_index, 1);
  sleep_until_ms(400);
  tell();
  if (attached > 0) {
    printf("destroy: %s", ibv_destroy_qp(qps[0]) == EBUSY ? "EBUSY" : "?");
    printf(", detach: %d", ibv_detach_mcast(qps[0], &group, kLid));
    printf(" %s\n", ibv_detach_mcast(qps[0], &group, kLid) == EINVAL ? "EINVAL" : "?");
  }
  sleep_until_ms(600);
  if (count > 4) send_one(gid_index, 2);
  sleep_until_ms(800);
  tell();
  for (int i = 1; i < attached; ++i) ibv_detach_mcast(qps[i], &group, kLid);
  int left = 0;
  for (int i = 0; i < kPairs; ++i) left += ibv_destroy_qp(qps[i]) != 0;
  printf("left: %d\n", left);
  return 0;
}
