// Clauses of ibv_create_srq_ex(3) and ibv_post_srq_ops(3) about tag matching, like clauses.c: `tag_clauses NAME` runs one.
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct ibv_context* device;
static struct ibv_pd* pd;
static struct ibv_cq* cq;
static struct ibv_mr* mr;
static char buffer[4096];
static int is_wrong;

#define EXPECT(condition)                                                           \
  do {                                                                              \
    if (!(condition) && !is_wrong++) printf("line %d: %s\n", __LINE__, #condition); \
  } while (0)

enum { kTags = 3, kOps = 4 };

static struct ibv_srq_init_attr_ex attributes_of_a_list(void) {
  struct ibv_srq_init_attr_ex init = {.attr = {.max_wr = 8, .max_sge = 1}, .srq_type = IBV_SRQT_TM, .pd = pd, .cq = cq};
  init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;
  init.tm_cap.max_num_tags = kTags;
  init.tm_cap.max_ops = kOps;
  return init;
}

static struct ibv_srq* try_srq(struct ibv_srq_init_attr_ex init) {
  errno = 0;
  return ibv_create_srq_ex(device, &init);
}

static struct ibv_sge sge;

static struct ibv_ops_wr adding(uint64_t id, uint64_t tag) {
  struct ibv_ops_wr wr = {.wr_id = id, .opcode = IBV_WR_TAG_ADD, .flags = IBV_OPS_SIGNALED};
  sge = (struct ibv_sge){(uintptr_t)buffer, sizeof buffer, mr->lkey};
  wr.tm.add.recv_wr_id = id;
  wr.tm.add.sg_list = &sge;
  wr.tm.add.num_sge = 1;
  wr.tm.add.tag = tag;
  wr.tm.add.mask = UINT64_MAX;
  return wr;
}

static int post(struct ibv_srq* srq, struct ibv_ops_wr* wr, struct ibv_ops_wr** bad) {
  *bad = NULL;
  return ibv_post_srq_ops(srq, wr, bad);
}

// The number of such completions when nothing is in flight.
static int count(enum ibv_wc_opcode opcode, enum ibv_wc_status status) {
  usleep(100000);
  struct ibv_wc wc;
  int found = 0;
  while (ibv_poll_cq(cq, 1, &wc) == 1) {
    EXPECT(wc.opcode == opcode && wc.status == status && wc.src_qp == 0);
    ++found;
  }
  return found;
}

static void the_device_tells_its_limits(void) {
  struct ibv_device_attr_ex attributes;
  EXPECT(ibv_query_device_ex(device, NULL, &attributes) == 0);
  EXPECT(attributes.tm_caps.flags == IBV_TM_CAP_RC && attributes.tm_caps.max_num_tags == 127);
  EXPECT(attributes.tm_caps.max_rndv_hdr_size == 64 && attributes.tm_caps.max_sge == 1);
  struct ibv_srq_init_attr_ex init = attributes_of_a_list();
  init.tm_cap.max_num_tags = attributes.tm_caps.max_num_tags;
  init.tm_cap.max_ops = attributes.tm_caps.max_ops;
  struct ibv_srq* srq = try_srq(init);
  EXPECT(srq != NULL && ibv_destroy_srq(srq) == 0);
  ++init.tm_cap.max_num_tags;
  EXPECT(try_srq(init) == NULL && errno == EINVAL);
  init = attributes_of_a_list();
  init.tm_cap.max_ops = attributes.tm_caps.max_ops + 1;
  EXPECT(try_srq(init) == NULL && errno == EINVAL);
}

static void it_needs_a_cq_and_its_sizes(void) {
  const uint32_t needed[] = {IBV_SRQ_INIT_ATTR_CQ, IBV_SRQ_INIT_ATTR_TM, IBV_SRQ_INIT_ATTR_PD};
  for (unsigned i = 0; i < 3; ++i) {
    struct ibv_srq_init_attr_ex init = attributes_of_a_list();
    init.comp_mask &= ~needed[i];
    EXPECT(try_srq(init) == NULL && errno == EINVAL);
  }
  struct ibv_srq_init_attr_ex init = attributes_of_a_list();
  init.srq_type = IBV_SRQT_BASIC;  // without a tag list
  EXPECT(try_srq(init) == NULL && errno == EINVAL);
  init = attributes_of_a_list();
  init.tm_cap.max_num_tags = 0;
  EXPECT(try_srq(init) == NULL && errno == EINVAL);
}

static void its_cq_is_EBUSY_while_it_lives(void) {
  struct ibv_srq* srq = try_srq(attributes_of_a_list());
  EXPECT(srq != NULL && ibv_destroy_cq(cq) == EBUSY);
  EXPECT(ibv_destroy_srq(srq) == 0 && ibv_destroy_cq(cq) == 0);
}

static void a_full_list_is_ENOMEM_until_something_leaves_it(void) {
  struct ibv_srq* srq = try_srq(attributes_of_a_list());
  struct ibv_ops_wr wr[kTags + 1], *bad;
  for (int i = 0; i <= kTags; ++i) {
    wr[i] = adding((uint64_t)i, (uint64_t)i);
    const int error = post(srq, &wr[i], &bad);
    EXPECT(i < kTags ? error == 0 : error == ENOMEM && bad == &wr[i]);
    for (int k = 0; k < i && i < kTags; ++k) EXPECT(wr[k].tm.handle != wr[i].tm.handle);
    usleep(1000);
  }
  EXPECT(count(IBV_WC_TM_ADD, IBV_WC_SUCCESS) == kTags);
  struct ibv_ops_wr delete = {.opcode = IBV_WR_TAG_DEL, .flags = IBV_OPS_SIGNALED, .tm.handle = wr[1].tm.handle};
  EXPECT(post(srq, &delete, &bad) == 0 && count(IBV_WC_TM_DEL, IBV_WC_SUCCESS) == 1);
  EXPECT(post(srq, &delete, &bad) == 0 && count(IBV_WC_TM_DEL, IBV_WC_TM_ERR) == 1);
  EXPECT(post(srq, &wr[kTags], &bad) == 0 && count(IBV_WC_TM_ADD, IBV_WC_SUCCESS) == 1);
  EXPECT(ibv_destroy_srq(srq) == 0);
}

static void more_than_max_ops_at_once_are_ENOMEM_from_there_on(void) {
  struct ibv_srq* srq = try_srq(attributes_of_a_list());
  struct ibv_ops_wr wr[kOps + 1], *bad;
  memset(wr, 0, sizeof wr);
  for (int i = 0; i <= kOps; ++i) {
    wr[i].opcode = IBV_WR_TAG_SYNC;
    wr[i].flags = IBV_OPS_SIGNALED;
    wr[i].next = i < kOps ? &wr[i + 1] : NULL;
  }
  EXPECT(post(srq, wr, &bad) == ENOMEM && bad == &wr[kOps]);
  EXPECT(count(IBV_WC_TM_SYNC, IBV_WC_SUCCESS) == kOps);
  EXPECT(post(srq, &wr[1], &bad) == 0 && count(IBV_WC_TM_SYNC, IBV_WC_SUCCESS) == kOps);
  EXPECT(ibv_destroy_srq(srq) == 0);
}

static void a_wrong_operation_stops_the_call_and_those_before_it_are_done(void) {
  struct ibv_srq* srq = try_srq(attributes_of_a_list());
  struct ibv_ops_wr wr[2], *bad;
  for (int kind = 0; kind < 3; ++kind) {
    wr[0] = (struct ibv_ops_wr){.opcode = IBV_WR_TAG_SYNC, .flags = IBV_OPS_SIGNALED, .next = &wr[1]};
    wr[1] = adding(1, 1);
    if (kind == 0) wr[1].tm.add.num_sge = 2;
    if (kind == 1) wr[1].opcode = (enum ibv_ops_wr_opcode)3;
    if (kind == 2) wr[1].flags = 4;
    EXPECT(post(srq, wr, &bad) == EINVAL && bad == &wr[1]);
    EXPECT(count(IBV_WC_TM_SYNC, IBV_WC_SUCCESS) == 1);
  }
  EXPECT(ibv_destroy_srq(srq) == 0);
}

static void an_operation_that_is_not_signaled_completes_in_silence(void) {
  struct ibv_srq* srq = try_srq(attributes_of_a_list());
  struct ibv_ops_wr wr = adding(1, 1), *bad;
  wr.flags = 0;
  for (int i = 0; i < 3 * kOps; ++i) {
    wr.opcode = i % 2 == 0 ? IBV_WR_TAG_ADD : IBV_WR_TAG_DEL;
    EXPECT(post(srq, &wr, &bad) == 0);
    usleep(1000);
  }
  EXPECT(count(IBV_WC_TM_ADD, IBV_WC_SUCCESS) == 0);
  EXPECT(ibv_destroy_srq(srq) == 0);
}

static void an_srq_of_another_type_has_no_list(void) {
  struct ibv_srq_init_attr init = {.attr = {.max_wr = 8, .max_sge = 1}};
  struct ibv_srq* srq = ibv_create_srq(pd, &init);
  struct ibv_ops_wr wr = adding(1, 1), *bad;
  EXPECT(post(srq, &wr, &bad) == EINVAL && bad == &wr);
  EXPECT(ibv_destroy_srq(srq) == 0);
}

#define CLAUSE(name) {#name, name}
static const struct {
  const char* name;
  void (*run)(void);
} kClauses[] = {
    CLAUSE(the_device_tells_its_limits),
    CLAUSE(it_needs_a_cq_and_its_sizes),
    CLAUSE(its_cq_is_EBUSY_while_it_lives),
    CLAUSE(a_full_list_is_ENOMEM_until_something_leaves_it),
    CLAUSE(more_than_max_ops_at_once_are_ENOMEM_from_there_on),
    CLAUSE(a_wrong_operation_stops_the_call_and_those_before_it_are_done),
    CLAUSE(an_operation_that_is_not_signaled_completes_in_silence),
    CLAUSE(an_srq_of_another_type_has_no_list),
};

int main(int argc, char** argv) {
  device = ibv_open_device(ibv_get_device_list(NULL)[0]);
  if (device == NULL) return 1;
  pd = ibv_alloc_pd(device);
  cq = ibv_create_cq(device, 64, NULL, NULL, 0);
  mr = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
  for (unsigned i = 0; i < sizeof kClauses / sizeof kClauses[0]; ++i) {
    if (argc < 2 || strcmp(argv[1], kClauses[i].name) != 0) continue;
    kClauses[i].run();
    if (!is_wrong) puts("right");
    return is_wrong != 0;
  }
  fputs("there is no such clause\n", stderr);
  return 2;
}
