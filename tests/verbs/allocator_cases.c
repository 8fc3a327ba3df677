// Allocators of parent domains (ibv_alloc_parent_domain(3)): the allocations requested of each, and their release.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "ends.h"

enum { kMost = 32 };

static struct {
  void* at[kMost];
  int allocated, freed, fails_at, uses_default;
  struct ibv_pd* pd;
  int wrong;
} seen;
static int cookie;

static const char* name_of_type(uint64_t type) {
  static const char* const names[] = {"?", "QP", "RWQ", "DBR", "SRQ", "CQ"};
  return type >> 32 == 1 && (type & 0xffffffff) <= 5 ? names[type & 0xffffffff] : "?";
}

static void* give(struct ibv_pd* pd, void* context, size_t size, size_t alignment, uint64_t type) {
  say(" +%s", name_of_type(type));
  if (context != &cookie || pd != seen.pd || size == 0) ++seen.wrong;
  if (seen.uses_default) return IBV_ALLOCATOR_USE_DEFAULT;
  if (seen.fails_at != 0 && --seen.fails_at == 0) return NULL;
  void* memory = NULL;
  if (posix_memalign(&memory, alignment, size) != 0) return NULL;
  memset(memory, 0, size);
  seen.at[seen.allocated++] = memory;
  return memory;
}

static void take_back(struct ibv_pd* pd, void* context, void* memory, uint64_t type) {
  say(" -%s", name_of_type(type));
  if (context != &cookie || pd != seen.pd) ++seen.wrong;
  int known = 0;
  for (int i = 0; i < seen.allocated; ++i) {
    if (seen.at[i] != memory) continue;
    seen.at[i] = NULL;
    known = 1;
  }
  if (!known) ++seen.wrong;
  ++seen.freed;
  free(memory);
}

static const char* made(const void* object) { return object != NULL ? "made" : name_of_error(errno); }

static struct ibv_qp* make_qp(int entries, struct ibv_srq* srq) {
  struct ibv_qp_init_attr init = {.send_cq = a.send_cq, .recv_cq = a.recv_cq, .srq = srq, .qp_type = IBV_QPT_RC,
                                  .cap = {(uint32_t)entries, srq != NULL ? 0 : 1, 1, 1, 0}};
  errno = 0;
  return ibv_create_qp(seen.pd, &init);
}

void allocator_cases(void) {
  connect_ends();
  struct ibv_context* context = a.pd->context;
  struct ibv_parent_domain_init_attr attributes = {
      .pd = a.pd, .comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
      .alloc = give, .free = take_back, .pd_context = &cookie};
  seen.pd = ibv_alloc_parent_domain(context, &attributes);

  struct ibv_cq_init_attr_ex queue = {.cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = seen.pd};
  struct ibv_cq_ex* cq = ibv_create_cq_ex(context, &queue);
  struct ibv_srq_init_attr shared = {.attr = {.max_wr = 4, .max_sge = 1}};
  struct ibv_srq* srq = ibv_create_srq(seen.pd, &shared);
  struct ibv_qp* qp = make_qp(4, srq);
  struct ibv_mr* mr = ibv_reg_mr(seen.pd, a.buffer, 64, IBV_ACCESS_LOCAL_WRITE);
  say(" all=%d", cq != NULL && srq != NULL && qp != NULL && mr != NULL);
  say(" destroy:");
  ibv_dereg_mr(mr);
  ibv_destroy_qp(qp);
  ibv_destroy_srq(srq);
  ibv_destroy_cq(ibv_cq_ex_to_cq(cq));

  say(" refused:");
  qp = make_qp(1 << 30, NULL);
  say(" %s", made(qp));
  for (int call = 1; call <= 2; ++call) {
    say(" fails_at_%d:", call);
    seen.fails_at = call;
    say(" %s", made(make_qp(4, NULL)));
  }
  seen.fails_at = 1;
  say(" %s", made(ibv_create_srq(seen.pd, &shared)));
  seen.fails_at = 2;
  say(" %s", made(ibv_create_cq_ex(context, &queue)));
  seen.fails_at = 0;

  say(" default:");
  seen.uses_default = 1;
  qp = make_qp(4, NULL);
  say(" %s", made(qp));
  ibv_destroy_qp(qp);
  say(" allocated=%d freed=%d wrong=%d", seen.allocated, seen.freed, seen.wrong);
  say(" dealloc=%s", name_of_error(ibv_dealloc_pd(seen.pd)));
  finish_ends("allocators_of_a_parent_domain");
}
