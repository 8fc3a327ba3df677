// Clauses of the man pages that other tests rely on: each is a function that checks a clause and prints only
// "right", or the first violation. `clauses NAME` runs one.
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ends.h"

static int is_wrong;

#define EXPECT(condition)                                                        \
  do {                                                                           \
    if (!(condition) && !is_wrong++) printf("line %d: %s\n", __LINE__, #condition); \
  } while (0)

static struct ibv_cq* make_queue(void) { return ibv_create_cq(device, 64, NULL, NULL, 0); }

static struct ibv_qp* try_qp(enum ibv_qp_type type, struct ibv_qp_cap* cap, struct ibv_srq* srq) {
  struct ibv_qp_init_attr init = {.send_cq = a.send_cq, .recv_cq = a.recv_cq, .srq = srq, .cap = *cap, .qp_type = type};
  errno = 0;
  struct ibv_qp* qp = ibv_create_qp(a.pd, &init);
  *cap = init.cap;
  return qp;
}

static const struct ibv_qp_cap kSmall = {1, 1, 1, 1, 0};

// ibv_create_qp, ibv_destroy_qp
static void caps_come_back_at_least_as_requested(void) {
  const struct ibv_qp_cap asked[] = {{1, 1, 1, 1, 0}, {3, 5, 2, 3, 7}, {100, 200, 4, 8, 60}, {17, 33, 1, 30, 100}};
  for (unsigned i = 0; i < sizeof asked / sizeof asked[0]; ++i) {
    struct ibv_qp_cap cap = asked[i];
    struct ibv_qp* qp = try_qp(IBV_QPT_RC, &cap, NULL);
    EXPECT(qp != NULL);
    EXPECT(cap.max_send_wr >= asked[i].max_send_wr && cap.max_recv_wr >= asked[i].max_recv_wr);
    EXPECT(cap.max_send_sge >= asked[i].max_send_sge && cap.max_recv_sge >= asked[i].max_recv_sge);
    EXPECT(cap.max_inline_data >= asked[i].max_inline_data);
    struct ibv_qp_attr attributes;
    struct ibv_qp_init_attr init;
    EXPECT(ibv_query_qp(qp, &attributes, IBV_QP_CAP, &init) == 0);
    EXPECT(memcmp(&init.cap, &cap, sizeof cap) == 0 && memcmp(&attributes.cap, &cap, sizeof cap) == 0);
    EXPECT(ibv_destroy_qp(qp) == 0);
  }
}

// Granted capacities can be used: as many requests, entries and inline bytes as the struct says.
static void what_comes_back_can_be_used(void) {
  struct ibv_qp_cap cap = {3, 3, 2, 2, 5};
  options.type = IBV_QPT_RC;
  struct ibv_qp* qp = try_qp(IBV_QPT_RC, &cap, NULL);
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT, .port_num = 1};
  EXPECT(ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  struct ibv_sge list[64];
  for (int i = 0; i < 64; ++i) list[i] = sge_of(&a, 0, 1);
  struct ibv_recv_wr receive = {.sg_list = list, .num_sge = (int)cap.max_recv_sge}, *bad;
  for (uint32_t i = 0; i < cap.max_recv_wr; ++i) EXPECT(ibv_post_recv(qp, &receive, &bad) == 0);
  EXPECT(ibv_post_recv(qp, &receive, &bad) == ENOMEM);
  receive.num_sge = (int)cap.max_recv_sge + 1;
  EXPECT(ibv_post_recv(qp, &receive, &bad) != 0);
  EXPECT(ibv_destroy_qp(qp) == 0);
}

static void beyond_a_limit_is_null_and_EINVAL(void) {
  struct ibv_device_attr limits;
  EXPECT(ibv_query_device(device, &limits) == 0);
  for (int i = 0; i < 5; ++i) {
    struct ibv_qp_cap cap = kSmall;
    if (i == 0) cap.max_send_wr = (uint32_t)limits.max_qp_wr + 1;
    if (i == 1) cap.max_recv_wr = (uint32_t)limits.max_qp_wr + 1;
    if (i == 2) cap.max_send_sge = (uint32_t)limits.max_sge + 1;
    if (i == 3) cap.max_recv_sge = (uint32_t)limits.max_sge + 1;
    if (i == 4) cap.max_inline_data = 1 << 20;
    EXPECT(try_qp(IBV_QPT_RC, &cap, NULL) == NULL && errno == EINVAL);
  }
  struct ibv_qp_cap cap = {(uint32_t)limits.max_qp_wr, 1, 1, 1, 0};
  struct ibv_qp* qp = try_qp(IBV_QPT_RC, &cap, NULL);
  EXPECT(qp != NULL && ibv_destroy_qp(qp) == 0);
}

static struct ibv_srq* make_srq(void) {
  struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
  return ibv_create_srq(a.pd, &init);
}

static void an_srq_is_for_RC_and_UD_alone(void) {
  struct ibv_srq* srq = make_srq();
  const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UD, IBV_QPT_UC};
  for (int i = 0; i < 3; ++i) {
    struct ibv_qp_cap cap = kSmall;
    struct ibv_qp* qp = try_qp(types[i], &cap, srq);
    if (types[i] == IBV_QPT_UC) {
      EXPECT(qp == NULL && errno == EINVAL);
    } else {
      EXPECT(qp != NULL && ibv_destroy_srq(srq) == EBUSY && ibv_destroy_qp(qp) == 0);
    }
  }
  EXPECT(ibv_destroy_srq(srq) == 0);
}

static void receive_caps_are_ignored_with_an_srq(void) {
  struct ibv_srq* srq = make_srq();
  struct ibv_qp_cap cap = {1, 1u << 30, 1, 1u << 30, 0};
  struct ibv_qp* qp = try_qp(IBV_QPT_RC, &cap, srq);
  EXPECT(qp != NULL && cap.max_recv_wr == 0 && cap.max_recv_sge == 0);
  EXPECT(ibv_destroy_qp(qp) == 0 && ibv_destroy_srq(srq) == 0);
}

static void sq_sig_all_makes_each_request_complete(void) {
  for (int all = 0; all < 2; ++all) {
    options.sq_sig_all = all;
    connect_ends();
    for (int i = 0; i < 3; ++i) {
      struct ibv_sge sge = sge_of(&a, 0, 8);
      struct ibv_send_wr wr = request((uint64_t)i, IBV_WR_RDMA_WRITE, &sge);
      wr.send_flags = i == 2 ? IBV_SEND_SIGNALED : 0;
      EXPECT(post(&wr) == 0);
    }
    settle();
    struct ibv_wc completions[4];
    EXPECT(ibv_poll_cq(a.send_cq, 4, completions) == (all ? 3 : 1));
    EXPECT(completions[all ? 2 : 0].wr_id == 2);
  }
}

static struct ibv_xrcd* open_domain(int fd, int flags) {
  struct ibv_xrcd_init_attr init = {
      .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = fd, .oflags = flags};
  errno = 0;
  return ibv_open_xrcd(device, &init);
}

static struct ibv_qp* make_xrc_receiver(struct ibv_xrcd* xrcd) {
  struct ibv_qp_init_attr_ex init = {.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd};
  errno = 0;
  return ibv_create_qp_ex(device, &init);
}

static struct ibv_srq* make_xrc_srq(struct ibv_xrcd* xrcd) {
  struct ibv_srq_init_attr_ex init = {
      .attr = {.max_wr = 4, .max_sge = 1},
      .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD,
      .srq_type = IBV_SRQT_XRC,
      .pd = a.pd,
      .xrcd = xrcd,
      .cq = a.recv_cq};
  errno = 0;
  return ibv_create_srq_ex(device, &init);
}

static void there_are_five_types_on_infiniband(void) {
  const enum ibv_qp_type made[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND};
  for (int i = 0; i < 4; ++i) {
    struct ibv_qp_cap cap = kSmall;
    struct ibv_qp* qp = try_qp(made[i], &cap, NULL);
    EXPECT(qp != NULL && qp->qp_type == made[i] && ibv_destroy_qp(qp) == 0);
  }
  struct ibv_xrcd* xrcd = open_domain(-1, O_CREAT);
  struct ibv_qp* receiver = make_xrc_receiver(xrcd);
  EXPECT(receiver != NULL && ibv_destroy_qp(receiver) == 0 && ibv_close_xrcd(xrcd) == 0);
  const enum ibv_qp_type absent[] = {IBV_QPT_RAW_PACKET, IBV_QPT_DRIVER};
  for (int i = 0; i < 2; ++i) {
    struct ibv_qp_cap cap = kSmall;
    EXPECT(try_qp(absent[i], &cap, NULL) == NULL && errno == EOPNOTSUPP);
  }
}

static void destroy_is_EBUSY_while_attached_to_a_group(void) {
  struct ibv_qp_cap cap = kSmall;
  struct ibv_qp* qp = try_qp(IBV_QPT_UD, &cap, NULL);
  union ibv_gid group = {.raw = {0xff, 0x12, [15] = 7}};
  EXPECT(ibv_attach_mcast(qp, &group, 0xc007) == 0);
  EXPECT(ibv_destroy_qp(qp) == EBUSY);
  EXPECT(ibv_detach_mcast(qp, &group, 0xc007) == 0);
  EXPECT(ibv_destroy_qp(qp) == 0);
}

static void numbers_are_unique_and_not_given_again_at_once(void) {
  enum { kMany = 300 };
  struct ibv_qp* qps[kMany];
  uint32_t last = 0;
  for (int i = 0; i < kMany; ++i) {
    struct ibv_qp_cap cap = kSmall;
    qps[i] = try_qp(IBV_QPT_RC, &cap, NULL);
    EXPECT(qps[i] != NULL && qps[i]->qp_num > last);
    last = qps[i]->qp_num;
    if (i % 3 == 1) {
      EXPECT(ibv_destroy_qp(qps[i - 1]) == 0);
      qps[i - 1] = NULL;
    }
  }
  for (int i = 0; i < kMany; ++i) EXPECT(qps[i] == NULL || ibv_destroy_qp(qps[i]) == 0);
}

// ibv_modify_qp
static void a_send_queue_error_stops_sending_and_RTS_mends_it(void) {
  options.type = IBV_QPT_UC;
  connect_ends();
  struct ibv_sge sge = sge_of(&a, 0, 8);
  sge.lkey ^= 0x5500;
  struct ibv_send_wr wr = request(1, IBV_WR_SEND, &sge);
  EXPECT(post(&wr) == 0 && post_simple(2, IBV_WR_SEND, 8) == 0);
  settle();
  struct ibv_wc wc[3];
  EXPECT(ibv_poll_cq(a.send_cq, 3, wc) == 2);
  EXPECT(wc[0].wr_id == 1 && wc[0].status == IBV_WC_LOC_PROT_ERR && wc[1].wr_id == 2 && wc[1].status == IBV_WC_WR_FLUSH_ERR);
  struct ibv_qp_attr attributes;
  struct ibv_qp_init_attr init;
  EXPECT(ibv_query_qp(a.qp, &attributes, IBV_QP_STATE, &init) == 0 && attributes.qp_state == IBV_QPS_SQE);
  EXPECT(post_recv(&b, 9, 100) == 0);
  EXPECT(try_modify(a.qp, IBV_QPS_RTS, 0, &attributes) == 0);
  EXPECT(post_simple(3, IBV_WR_SEND, 8) == 0);
  settle();
  EXPECT(ibv_poll_cq(a.send_cq, 3, wc) == 1 && wc[0].status == IBV_WC_SUCCESS);
  EXPECT(ibv_poll_cq(b.recv_cq, 3, wc) == 1 && wc[0].wr_id == 9);
}

static void ERR_flushes_both_queues_in_order(void) {
  connect_ends();
  for (int i = 1; i <= 4; ++i) EXPECT(post_recv(&a, (uint64_t)i, 8) == 0);
  struct ibv_qp_attr attributes = {0};
  EXPECT(try_modify(a.qp, IBV_QPS_ERR, 0, &attributes) == 0);
  for (int i = 1; i <= 4; ++i) EXPECT(post_simple((uint64_t)i, IBV_WR_SEND, 8) == 0);
  settle();
  struct ibv_cq* queues[] = {a.send_cq, a.recv_cq};
  for (int q = 0; q < 2; ++q) {
    struct ibv_wc wc[8];
    EXPECT(ibv_poll_cq(queues[q], 8, wc) == 4);
    for (int i = 0; i < 4; ++i) EXPECT(wc[i].wr_id == (uint64_t)i + 1 && wc[i].status == IBV_WC_WR_FLUSH_ERR);
  }
}

static void RESET_drops_what_is_posted_in_silence(void) {
  connect_ends();
  for (int i = 1; i <= 3; ++i) EXPECT(post_recv(&a, (uint64_t)i, 8) == 0);
  struct ibv_qp_attr attributes = {0};
  EXPECT(try_modify(a.qp, IBV_QPS_RESET, 0, &attributes) == 0);
  settle();
  struct ibv_wc wc[4];
  EXPECT(ibv_poll_cq(a.send_cq, 4, wc) == 0 && ibv_poll_cq(a.recv_cq, 4, wc) == 0);
  struct ibv_async_event event;
  EXPECT(fcntl(device->async_fd, F_SETFL, O_NONBLOCK) == 0 && ibv_get_async_event(device, &event) != 0);
}

// ibv_destroy_qp, ibv_destroy_cq: a waiter gets no event that can no longer be read.
static void events_of_what_is_destroyed_are_gone(void) {
  channel = ibv_create_comp_channel(device);
  options.cq_channel = 1;
  connect_ends();
  EXPECT(ibv_req_notify_cq(a.send_cq, 0) == 0);
  struct ibv_sge sge = sge_of(&a, 0, 8);
  struct ibv_send_wr wr = request(1, IBV_WR_RDMA_WRITE, &sge);
  wr.wr.rdma.rkey ^= 0x10;
  EXPECT(post(&wr) == 0);
  settle();
  struct pollfd files[] = {{device->async_fd, POLLIN, 0}, {channel->fd, POLLIN, 0}};
  EXPECT(poll(files, 2, 0) == 2);
  EXPECT(ibv_destroy_qp(a.qp) == 0 && ibv_destroy_qp(b.qp) == 0 && ibv_destroy_cq(a.send_cq) == 0);
  EXPECT(poll(files, 2, 0) == 0);
}

static void rates_are_not_limited_and_that_is_said(void) {
  struct ibv_device_attr_ex limits;
  EXPECT(ibv_query_device_ex(device, NULL, &limits) == 0 && limits.packet_pacing_caps.qp_rate_limit_max == 0);
  connect_ends();
  struct ibv_qp_rate_limit_attr rate = {.rate_limit = 1000};
  EXPECT(ibv_modify_qp_rate_limit(a.qp, &rate) == EOPNOTSUPP);
}

// ibv_open_xrcd, ibv_close_xrcd
static int file(const char* path) { return open(path, O_RDWR | O_CREAT, 0600); }

static void minus_one_makes_a_domain_of_its_own(void) {
  struct ibv_xrcd* one = open_domain(-1, O_CREAT);
  struct ibv_xrcd* other = open_domain(-1, O_CREAT);
  EXPECT(one != NULL && other != NULL);
  struct ibv_qp* receiver = make_xrc_receiver(one);
  struct ibv_qp_open_attr open_it = {
      .comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
      .qp_num = receiver->qp_num, .xrcd = other, .qp_type = IBV_QPT_XRC_RECV};
  EXPECT(ibv_open_qp(device, &open_it) == NULL);
  open_it.xrcd = one;
  struct ibv_qp* again = ibv_open_qp(device, &open_it);
  EXPECT(again != NULL && again->qp_num == receiver->qp_num);
  EXPECT(ibv_destroy_qp(receiver) == 0 && ibv_destroy_qp(again) == 0);
  EXPECT(ibv_close_xrcd(one) == 0 && ibv_close_xrcd(other) == 0);
}

// In a child: opens the domain of `path` with these flags, and returns the result as exit code.
static int opens_in_a_child(const char* path, int flags) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    struct ibv_device** list = ibv_get_device_list(NULL);
    device = ibv_open_device(list[0]);
    const int fd = open(path, O_RDONLY);
    struct ibv_xrcd* xrcd = fd < 0 ? NULL : open_domain(fd, flags);
    _exit(xrcd != NULL ? 0 : errno);
  }
  int status;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

static void a_file_names_a_domain_by_its_inode(void) {
  const int fd = file("/tmp/domain");
  EXPECT(link("/tmp/domain", "/tmp/the same") == 0);
  const int same = open("/tmp/the same", O_RDONLY), other = file("/tmp/other");
  EXPECT(open_domain(fd, 0) == NULL && errno == EAGAIN);
  struct ibv_xrcd* xrcd = open_domain(fd, O_CREAT | O_EXCL);
  EXPECT(xrcd != NULL);
  EXPECT(open_domain(fd, O_CREAT | O_EXCL) == NULL && errno == EINVAL);
  EXPECT(open_domain(same, O_CREAT | O_EXCL) == NULL && errno == EINVAL);
  struct ibv_xrcd* again = open_domain(same, 0);
  struct ibv_xrcd* created = open_domain(fd, O_CREAT);
  EXPECT(again != NULL && created != NULL && open_domain(other, 0) == NULL);
  EXPECT(ibv_close_xrcd(again) == 0 && ibv_close_xrcd(created) == 0 && ibv_close_xrcd(xrcd) == 0);
  EXPECT(open_domain(fd, 0) == NULL && errno == EAGAIN);
}

static void processes_of_a_host_share_the_domain_of_a_file(void) {
  const int fd = file("/tmp/domain");
  struct ibv_xrcd* xrcd = open_domain(fd, O_CREAT);
  EXPECT(xrcd != NULL);
  EXPECT(opens_in_a_child("/tmp/domain", 0) == 0);
  EXPECT(opens_in_a_child("/tmp/domain", O_CREAT | O_EXCL) == EINVAL);
  EXPECT(ibv_close_xrcd(xrcd) == 0);
  EXPECT(opens_in_a_child("/tmp/domain", 0) == EAGAIN);
}

static void the_last_reference_ends_a_domain_also_by_death(void) {
  const int fd = file("/tmp/domain");
  int ready[2];
  EXPECT(pipe(ready) == 0);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    struct ibv_device** list = ibv_get_device_list(NULL);
    device = ibv_open_device(list[0]);
    const char made = open_domain(fd, O_CREAT) != NULL;
    if (write(ready[1], &made, 1) != 1) _exit(1);
    pause();
  }
  char made = 0;
  EXPECT(read(ready[0], &made, 1) == 1 && made);
  struct ibv_xrcd* xrcd = open_domain(fd, 0);
  EXPECT(xrcd != NULL && ibv_close_xrcd(xrcd) == 0);
  EXPECT(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
  EXPECT(open_domain(fd, 0) == NULL && errno == EAGAIN);
}

static void the_inode_stays_open_while_the_domain_lives(void) {
  int fd = file("/tmp/domain");
  struct ibv_xrcd* xrcd = open_domain(fd, O_CREAT);
  EXPECT(xrcd != NULL && unlink("/tmp/domain") == 0 && close(fd) == 0);
  // Whichever inodes new files get, none is that of the domain.
  for (int i = 0; i < 20; ++i) {
    fd = file("/tmp/domain");
    EXPECT(open_domain(fd, 0) == NULL && errno == EAGAIN);
    EXPECT(unlink("/tmp/domain") == 0 && close(fd) == 0);
  }
  EXPECT(ibv_close_xrcd(xrcd) == 0);
}

static void comp_mask_names_FD_and_OFLAGS(void) {
  for (uint32_t mask = 0; mask < 3; ++mask) {
    struct ibv_xrcd_init_attr init = {.comp_mask = mask, .fd = -1, .oflags = O_CREAT};
    errno = 0;
    EXPECT(ibv_open_xrcd(device, &init) == NULL && errno == EINVAL);
  }
}

static void a_bad_descriptor_is_EBADF(void) {
  EXPECT(open_domain(777, O_CREAT) == NULL && errno == EBADF);
  EXPECT(open_domain(-2, O_CREAT) == NULL && errno == EBADF);
}

static void closing_is_EBUSY_while_queues_use_the_domain(void) {
  struct ibv_xrcd* xrcd = open_domain(-1, O_CREAT);
  struct ibv_srq* srq = make_xrc_srq(xrcd);
  EXPECT(srq != NULL && ibv_close_xrcd(xrcd) == EBUSY && ibv_destroy_srq(srq) == 0);
  struct ibv_qp* receiver = make_xrc_receiver(xrcd);
  EXPECT(receiver != NULL && ibv_close_xrcd(xrcd) == EBUSY && ibv_destroy_qp(receiver) == 0);
  EXPECT(ibv_close_xrcd(xrcd) == 0);
}

static void an_xrc_srq_has_a_number_and_another_none(void) {
  struct ibv_xrcd* xrcd = open_domain(-1, O_CREAT);
  struct ibv_srq* srq = make_xrc_srq(xrcd);
  struct ibv_srq* second = make_xrc_srq(xrcd);
  uint32_t number = 0, other = 0;
  EXPECT(ibv_get_srq_num(srq, &number) == 0 && ibv_get_srq_num(second, &other) == 0 && number != other);
  EXPECT(ibv_destroy_srq(srq) == 0 && ibv_destroy_srq(second) == 0 && ibv_close_xrcd(xrcd) == 0);
}

#define CLAUSE(name) {#name, name}
static const struct {
  const char* name;
  void (*run)(void);
} kClauses[] = {
    CLAUSE(caps_come_back_at_least_as_requested),
    CLAUSE(what_comes_back_can_be_used),
    CLAUSE(beyond_a_limit_is_null_and_EINVAL),
    CLAUSE(an_srq_is_for_RC_and_UD_alone),
    CLAUSE(receive_caps_are_ignored_with_an_srq),
    CLAUSE(sq_sig_all_makes_each_request_complete),
    CLAUSE(there_are_five_types_on_infiniband),
    CLAUSE(destroy_is_EBUSY_while_attached_to_a_group),
    CLAUSE(numbers_are_unique_and_not_given_again_at_once),
    CLAUSE(a_send_queue_error_stops_sending_and_RTS_mends_it),
    CLAUSE(ERR_flushes_both_queues_in_order),
    CLAUSE(RESET_drops_what_is_posted_in_silence),
    CLAUSE(events_of_what_is_destroyed_are_gone),
    CLAUSE(rates_are_not_limited_and_that_is_said),
    CLAUSE(minus_one_makes_a_domain_of_its_own),
    CLAUSE(a_file_names_a_domain_by_its_inode),
    CLAUSE(processes_of_a_host_share_the_domain_of_a_file),
    CLAUSE(the_last_reference_ends_a_domain_also_by_death),
    CLAUSE(the_inode_stays_open_while_the_domain_lives),
    CLAUSE(comp_mask_names_FD_and_OFLAGS),
    CLAUSE(a_bad_descriptor_is_EBADF),
    CLAUSE(closing_is_EBUSY_while_queues_use_the_domain),
    CLAUSE(an_xrc_srq_has_a_number_and_another_none),
};

int main(int argc, char** argv) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  device = ibv_open_device(list[0]);
  if (device == NULL || ibv_query_port(device, 1, &port) != 0 || ibv_query_gid(device, 1, 0, &gid) != 0) return 1;
  a.pd = ibv_alloc_pd(device);
  a.send_cq = make_queue();
  a.recv_cq = make_queue();
  a.buffer = calloc(1, kBufferBytes);
  a.mr = ibv_reg_mr(a.pd, a.buffer, kBufferBytes, IBV_ACCESS_LOCAL_WRITE);
  for (unsigned i = 0; i < sizeof kClauses / sizeof kClauses[0]; ++i) {
    if (argc < 2 || strcmp(argv[1], kClauses[i].name) != 0) continue;
    kClauses[i].run();
    if (!is_wrong) puts("right");
    return is_wrong != 0;
  }
  fputs("there is no such clause\n", stderr);
  return 2;
}
