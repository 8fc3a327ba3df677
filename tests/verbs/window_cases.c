// Memory windows of both types: valid binds, access through a bound window, invalidation, references to other objects.
#include <errno.h>
#include <stdlib.h>

#include "cases.h"
#include "ends.h"

#define SAY_ERROR(call) say(" " #call "=%s", name_of_error(call))

static const int kRemote = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

static struct ibv_mr* region_for_windows(int access) { return ibv_reg_mr(b.pd, b.buffer, 4096, access | IBV_ACCESS_MW_BIND); }

static struct ibv_mw_bind_info part_of(struct ibv_mr* mr, uint64_t offset, uint64_t length) {
  return (struct ibv_mw_bind_info){mr, (uintptr_t)b.buffer + offset, length, (unsigned)kRemote};
}

static int bind_type_1(struct ibv_mw* mw, uint64_t id, struct ibv_mw_bind_info info) {
  struct ibv_mw_bind bind = {.wr_id = id, .send_flags = IBV_SEND_SIGNALED, .bind_info = info};
  return ibv_bind_mw(b.qp, mw, &bind);
}

static int bind_type_2(struct ibv_mw* mw, uint32_t key, struct ibv_mw_bind_info info) {
  struct ibv_send_wr wr = {.wr_id = 20, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED}, *bad;
  wr.bind_mw.mw = mw;
  wr.bind_mw.rkey = key;
  wr.bind_mw.bind_info = info;
  return ibv_post_send(b.qp, &wr, &bad);
}

static void say_result(struct ibv_cq* cq) {
  struct ibv_wc wc;
  settle();
  while (ibv_poll_cq(cq, 1, &wc) == 1)
    say(" %d:%s", (int)wc.wr_id, wc.status == IBV_WC_SUCCESS ? "ok" : ibv_wc_status_str(wc.status));
}

static void write_by(uint64_t id, uint32_t key, uint64_t offset) {
  struct ibv_sge sge = sge_of(&a, 0, 8);
  struct ibv_send_wr wr = request(id, IBV_WR_RDMA_WRITE, &sge);
  wr.wr.rdma.remote_addr = (uintptr_t)b.buffer + offset;
  wr.wr.rdma.rkey = key;
  post(&wr);
}

static void type_1(void) {
  connect_ends();
  struct ibv_mr* mr = region_for_windows(IBV_ACCESS_LOCAL_WRITE);
  struct ibv_mw* mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1);
  const uint32_t first = mw->rkey;
  SAY_ERROR(bind_type_1(mw, 20, part_of(mr, 100, 100)));
  say(" key=%d", mw->rkey == ibv_inc_rkey(first));
  say_result(b.send_cq);
  write_by(1, mw->rkey, 192);
  settle();
  SAY_ERROR(ibv_dereg_mr(mr));
  SAY_ERROR(bind_type_1(mw, 21, (struct ibv_mw_bind_info){0}));
  say_result(b.send_cq);
  SAY_ERROR(ibv_dereg_mr(mr));
  write_by(2, mw->rkey, 192);
  settle();
  SAY_ERROR(ibv_dealloc_pd(b.pd));
  SAY_ERROR(ibv_dealloc_mw(mw));
  finish_ends("window_of_type_1");
}

static void wrong_types(void) {
  connect_ends();
  struct ibv_mr* mr = region_for_windows(IBV_ACCESS_LOCAL_WRITE);
  struct ibv_mw *one = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1), *two = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
  struct ibv_mw* of_a = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1);
  SAY_ERROR(bind_type_1(two, 20, part_of(mr, 0, 64)));
  SAY_ERROR(bind_type_2(one, one->rkey, part_of(mr, 0, 64)));
  SAY_ERROR(bind_type_1(one, 20, part_of(NULL, 0, 64)));
  say(" other domain=%d", bind_type_1(of_a, 20, part_of(mr, 0, 64)) == EPERM);
  errno = 0;
  say(" type 3=%d", ibv_alloc_mw(b.pd, (enum ibv_mw_type)3) == NULL && errno == EINVAL);
  ibv_dealloc_mw(of_a);
  ibv_dealloc_mw(one);
  ibv_dealloc_mw(two);
  ibv_dereg_mr(mr);
  finish_ends("binding_the_wrong_window");
}

static void type_2(void) {
  connect_ends();
  struct ibv_mr* mr = region_for_windows(IBV_ACCESS_LOCAL_WRITE);
  struct ibv_mw* mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
  uint32_t key = ibv_inc_rkey(mw->rkey);
  SAY_ERROR(bind_type_2(mw, key, part_of(mr, 0, 64)));
  say_result(b.send_cq);
  write_by(1, key, 56);
  settle();
  post_recv(&b, 10, 100);
  struct ibv_sge from = sge_of(&a, 0, 8);
  struct ibv_send_wr wr = request(2, IBV_WR_SEND_WITH_INV, &from);
  wr.invalidate_rkey = key;
  post(&wr);
  settle();
  key = ibv_inc_rkey(key);
  SAY_ERROR(bind_type_2(mw, key, part_of(mr, 64, 64)));
  say_result(b.send_cq);
  write_by(3, key, 64);
  settle();
  struct ibv_send_wr local = {.wr_id = 21, .opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED}, *bad;
  local.invalidate_rkey = key;
  SAY_ERROR(ibv_post_send(b.qp, &local, &bad));
  say_result(b.send_cq);
  write_by(4, key, 64);
  settle();
  SAY_ERROR(ibv_dealloc_mw(mw));
  SAY_ERROR(ibv_dereg_mr(mr));
  finish_ends("window_of_type_2");
}

static void refused(const char* name, int region_access, uint64_t offset, uint64_t length) {
  connect_ends();
  struct ibv_mr* mr = ibv_reg_mr(b.pd, b.buffer, 4096, region_access);
  struct ibv_mw* mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
  SAY_ERROR(bind_type_2(mw, ibv_inc_rkey(mw->rkey), part_of(mr, offset, length)));
  say_result(b.send_cq);
  ibv_dealloc_mw(mw);
  ibv_dereg_mr(mr);
  finish_ends(name);
}

static void beyond(void) {
  connect_ends();
  struct ibv_mr* mr = region_for_windows(IBV_ACCESS_LOCAL_WRITE);
  struct ibv_mw* mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1);
  bind_type_1(mw, 20, part_of(mr, 100, 100));
  say_result(b.send_cq);
  write_by(1, mw->rkey, 193);
  settle();
  ibv_dealloc_mw(mw);
  ibv_dereg_mr(mr);
  finish_ends("write_over_the_end_of_a_window");
}

void window_cases(void) {
  type_1();
  type_2();
  wrong_types();
  refused("window_on_a_region_that_is_not_made_for_them", IBV_ACCESS_LOCAL_WRITE, 0, 64);
  refused("window_for_writing_on_a_region_without_local_write", IBV_ACCESS_MW_BIND, 0, 64);
  refused("window_beyond_its_region", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND, 4000, 97);
  beyond();
}
