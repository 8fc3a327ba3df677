// Memory that is not an ordinary region: device memory, null regions, zero-based and on-demand paging
// regions, and second handles of existing memory.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cases.h"
#include "ends.h"

#define SAY_ERROR(call) say(" " #call "=%s", name_of_error(call))
#define SAY_MADE(what, call)                                             \
  do {                                                                   \
    errno = 0;                                                           \
    say(" " what "=%s", (call) == NULL ? name_of_error(errno) : "made"); \
  } while (0)

static const int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

static void write_at(uint64_t id, uint32_t key, uint64_t to, uint32_t length) {
  struct ibv_sge sge = sge_of(&a, 0, length);
  struct ibv_send_wr wr = request(id, IBV_WR_RDMA_WRITE, &sge);
  wr.wr.rdma.remote_addr = to;
  wr.wr.rdma.rkey = key;
  post(&wr);
  settle();
}

static void device_memory(void) {
  connect_ends();
  struct ibv_device_attr_ex attributes;
  ibv_query_device_ex(device, NULL, &attributes);
  struct ibv_alloc_dm_attr ask = {.length = attributes.max_dm_size + 1};
  SAY_MADE("too_much", ibv_alloc_dm(device, &ask));
  ask = (struct ibv_alloc_dm_attr){.length = 4096, .comp_mask = 1};
  SAY_MADE("unknown_bit", ibv_alloc_dm(device, &ask));
  ask.comp_mask = 0;
  struct ibv_dm* dm = ibv_alloc_dm(device, &ask);
  char text[64] = "written by the processor", back[64] = "";
  SAY_ERROR(ibv_memcpy_to_dm(dm, 128, text, sizeof text));
  SAY_ERROR(ibv_memcpy_to_dm(dm, 126, text, 4));
  SAY_ERROR(ibv_memcpy_from_dm(text, dm, 4096, 4));
  SAY_MADE("not_zero_based", ibv_reg_dm_mr(b.pd, dm, 0, 4096, (unsigned)kAll));
  struct ibv_mr* mr = ibv_reg_dm_mr(b.pd, dm, 0, 4096, (unsigned)kAll | IBV_ACCESS_ZERO_BASED);
  SAY_ERROR(ibv_free_dm(dm));
  memcpy(a.buffer, "by a peer", 10);
  write_at(1, mr->rkey, 140, 8);
  SAY_ERROR(ibv_memcpy_from_dm(back, dm, 128, sizeof back));
  say(" [%s]", back);
  write_at(2, mr->rkey, 4090, 8);
  SAY_ERROR(ibv_dereg_mr(mr));
  SAY_ERROR(ibv_free_dm(dm));
  finish_ends("device_memory");
}

static void null_region(void) {
  connect_ends();
  struct ibv_mr* null = ibv_alloc_null_mr(b.pd);
  struct ibv_sge list[] = {{0, 100, null->lkey}, sge_of(&b, 0, 100)};
  struct ibv_recv_wr wr = {.wr_id = 10, .sg_list = list, .num_sge = 2}, *bad;
  ibv_post_recv(b.qp, &wr, &bad);
  memset(a.buffer + 100, 'n', 100);
  post_simple(1, IBV_WR_SEND, 200);
  settle();
  say(" %c%c", b.buffer[0], b.buffer[99]);
  say(" changed=%d", ibv_rereg_mr(null, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE) == 0);
  SAY_ERROR(ibv_dereg_mr(null));
  finish_ends("null_region");
}

static void zero_based(void) {
  connect_ends();
  extra = ibv_reg_mr(b.pd, b.buffer + 33, 64, kAll | IBV_ACCESS_ZERO_BASED);
  memset(a.buffer, 'z', 8);
  write_at(1, extra->rkey, 0, 8);
  say(" %c%c%c", b.buffer[32], b.buffer[33], b.buffer[40]);
  write_at(2, extra->rkey, 57, 8);
  finish_ends("zero_based_region");
}

static void on_demand(void) {
  connect_ends();
  char* later = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  extra = ibv_reg_mr(b.pd, later, 8192, kAll | IBV_ACCESS_ON_DEMAND);
  struct ibv_sge range = {(uintptr_t)later, 8192, extra->lkey};
  SAY_ERROR(ibv_advise_mr(b.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, &range, 1));
  memset(a.buffer, 'd', 8);
  write_at(1, extra->rkey, (uintptr_t)later + 5000, 8);
  say(" %c", later[5007]);
  munmap(later + 4096, 4096);
  SAY_ERROR(ibv_advise_mr(b.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, &range, 1));
  write_at(2, extra->rkey, (uintptr_t)later, 8);
  say(" %c", later[7]);
  write_at(3, extra->rkey, (uintptr_t)later + 5000, 8);
  munmap(later, 4096);
  finish_ends("region_that_is_paged_on_demand");
}

static void implicit(void) {
  connect_ends();
  extra = ibv_reg_mr(b.pd, NULL, SIZE_MAX, kAll | IBV_ACCESS_ON_DEMAND);
  write_at(1, extra->rkey, (uintptr_t)b.buffer + 100, 8);
  say(" %c", b.buffer[100]);
  write_at(2, extra->rkey, 8, 8);
  finish_ends("region_of_the_whole_address_space");
}

static void import(void) {
  connect_ends();
  SAY_MADE("of_no_descriptor", ibv_import_device(-1));
  SAY_MADE("of_a_file", ibv_import_device(0));
  struct ibv_context* again = ibv_import_device(dup(device->cmd_fd));
  say(" same=%d", again != NULL && again->device == device->device);
  SAY_MADE("no_pd", ibv_import_pd(again, 12345));
  struct ibv_pd* pd = ibv_import_pd(again, b.pd->handle);
  SAY_MADE("no_mr", ibv_import_mr(pd, 12345));
  struct ibv_mr* mr = ibv_import_mr(pd, b.mr->handle);
  say(" mr=%d", mr->rkey == b.mr->rkey && mr->length == b.mr->length && mr->addr == NULL);
  write_at(1, mr->rkey, (uintptr_t)b.buffer, 8);
  ibv_unimport_mr(mr);
  ibv_unimport_pd(pd);
  SAY_ERROR(ibv_close_device(again));
  write_at(2, b.mr->rkey, (uintptr_t)b.buffer, 8);
  finish_ends("imported_objects");
}

void memory_cases(void) {
  device_memory();
  null_region();
  zero_based();
  on_demand();
  implicit();
  import();
}
