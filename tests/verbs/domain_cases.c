// Thread domains and parent domains: references between them and other objects.
#include <errno.h>
#include <stdlib.h>

#include "cases.h"
#include "ends.h"

#define SAY_ERROR(call) say(" " #call "=%s", name_of_error(call))
#define SAY_MADE(what, call)                             \
  do {                                                   \
    errno = 0;                                           \
    say(" " what "=%s", (call) == NULL ? name_of_error(errno) : "made"); \
  } while (0)

void domain_cases(void) {
  connect_ends();
  struct ibv_context* context = a.pd->context;
  struct ibv_td_init_attr unknown = {.comp_mask = 1}, plain = {0};
  SAY_MADE("td_with_unknown_bit", ibv_alloc_td(context, &unknown));
  struct ibv_td* td = ibv_alloc_td(context, &plain);
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_parent_domain_init_attr attributes = {.td = td};
  SAY_MADE("without_pd", ibv_alloc_parent_domain(context, &attributes));
  attributes.pd = pd;
  attributes.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
  SAY_MADE("without_allocators", ibv_alloc_parent_domain(context, &attributes));
  attributes.comp_mask = 1 << 3;
  SAY_MADE("with_unknown_bit", ibv_alloc_parent_domain(context, &attributes));
  attributes.comp_mask = 0;
  struct ibv_pd* parent = ibv_alloc_parent_domain(context, &attributes);
  attributes.pd = parent;
  SAY_MADE("with_a_parent", ibv_alloc_parent_domain(context, &attributes));
  SAY_ERROR(ibv_dealloc_td(td));
  SAY_ERROR(ibv_dealloc_pd(pd));

  struct ibv_mr* mr = ibv_reg_mr(parent, a.buffer, 64, IBV_ACCESS_LOCAL_WRITE);
  SAY_ERROR(ibv_dealloc_pd(parent));
  say(" moved=%d", ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, a.pd, NULL, 0, 0));
  struct ibv_cq_init_attr_ex queue = {.cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = pd};
  SAY_MADE("queue_in_a_protection_domain", ibv_create_cq_ex(context, &queue));
  queue.parent_domain = parent;
  struct ibv_cq_ex* cq = ibv_create_cq_ex(context, &queue);
  SAY_ERROR(ibv_dealloc_pd(parent));
  SAY_ERROR(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
  struct ibv_srq_init_attr shared = {.attr = {.max_wr = 4, .max_sge = 1}};
  struct ibv_srq* srq = ibv_create_srq(parent, &shared);
  struct ibv_qp_init_attr init = {
      .send_cq = a.send_cq, .recv_cq = a.recv_cq, .srq = srq, .qp_type = IBV_QPT_RC, .cap = {1, 0, 1, 0, 0}};
  struct ibv_qp* qp = ibv_create_qp(parent, &init);
  say(" qp_of_parent=%d", qp != NULL && qp->pd == parent);
  SAY_ERROR(ibv_destroy_qp(qp));
  SAY_ERROR(ibv_dealloc_pd(parent));
  SAY_ERROR(ibv_destroy_srq(srq));
  SAY_ERROR(ibv_dealloc_pd(parent));
  SAY_ERROR(ibv_dealloc_td(td));
  SAY_ERROR(ibv_dealloc_pd(pd));
  SAY_ERROR(ibv_dereg_mr(mr));
  finish_ends("domains");
}
