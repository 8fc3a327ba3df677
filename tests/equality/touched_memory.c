// Both sides send, write and read without a pause, change bytes of posted buffers, and check the memory
// written by the other side, between any two calls that a thread answers itself. The observed values are
// combined in one number, which differs if an adapter accesses memory a call too early or too late.
#include <time.h>

#include "tests/equality/drawn_steps.h"
#include "tests/equality/rc_pair.h"

enum { kPort = 18720, kSlots = 16, kSlotBytes = 4096, kMessages = 1500, kPages = 2 * kSlots + 2 };

static char* memory;  // slots to send from, slots to receive to, a page that the other side writes, one that is read-only here
static char* to_send(uint32_t slot) { return memory + (size_t)slot * kSlotBytes; }
static char* received(uint32_t slot) { return memory + (size_t)(kSlots + slot) * kSlotBytes; }
static char* written(uint32_t page) { return memory + (size_t)(2 * kSlots + page) * kSlotBytes; }

static void look(void) {
  uint64_t first, last;
  const uint32_t slot = draw(kSlots);
  memcpy(&first, received(slot), sizeof first);
  memcpy(&last, received(slot) + 56, sizeof last);
  see(first + 3 * last);
  for (uint32_t page = 0; page < 2; ++page) {
    memcpy(&first, written(page) + 8 * draw(8), sizeof first);
    see(first);
  }
}

static void scribble(void) {
  char* const bytes = to_send(draw(kSlots));
  bytes[draw(64)] += 1;
  *(uint32_t*)(written(0) + 512) += 1;  // the other side reads it
}

static const uint32_t kLengths[] = {8, 8, 8, 64, 64, 200, 1000, 4096};

static int post_one(struct ibv_qp* qp, const struct ibv_mr* mr, const struct rc_address* theirs, uint32_t slot) {
  const uint32_t length = kLengths[draw(8)], kind = draw(5);
  struct ibv_sge pieces[2] = {{(uintptr_t)to_send(slot), length, mr->lkey}, {0, 0, mr->lkey}};
  struct ibv_send_wr wr = {.wr_id = slot, .sg_list = pieces, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
  wr.send_flags = IBV_SEND_SIGNALED;
  if (length > 8 && draw(3) == 0) {
    pieces[0].length = length / 2;
    pieces[1].addr = (uintptr_t)to_send((slot + 1) % kSlots);
    pieces[1].length = length - length / 2;
    wr.num_sge = 2;
  }
  if (kind >= 2) {
    wr.opcode = kind == 4 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
    wr.wr.rdma.rkey = theirs->rkey;
    wr.wr.rdma.remote_addr = theirs->address + (size_t)(2 * kSlots + (kind == 3)) * kSlotBytes;
    if (kind == 4) wr.wr.rdma.remote_addr += 512;
    pieces[0].length = kind == 4 ? 64 : 64 / wr.num_sge;
    pieces[1].length = wr.num_sge == 2 ? 32 : 0;
    if (kind == 4) {
      wr.num_sge = 1;
      pieces[0].addr = (uintptr_t)received(slot);
    }
  }
  MUST(ibv_post_send(qp, &wr, &bad) == 0);
  return wr.opcode == IBV_WR_SEND;
}

int main(int argc, char** argv) {
  const char* const server = argc > 1 ? argv[1] : NULL;
  setvbuf(stdout, NULL, _IOLBF, 0);
  state = server == NULL ? 17 : 4711;
  struct ibv_context* context = open_first_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4 * kSlots, NULL, NULL, 0);
  memory = chosen_memory((size_t)kPages * kSlotBytes);
  struct ibv_mr* mr = ibv_reg_mr(pd, memory, (size_t)kPages * kSlotBytes,
                                 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  MUST(pd != NULL && cq != NULL && mr != NULL);
  memset(memory, 1, (size_t)kPages * kSlotBytes);
  MUST(mprotect(written(1), kSlotBytes, PROT_READ) == 0);  // adapters write pinned pages all the same
  struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC};
  init.cap.max_send_wr = init.cap.max_recv_wr = kSlots;
  init.cap.max_send_sge = init.cap.max_recv_sge = 2;
  struct ibv_qp* qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL);
  const int tcp = tcp_pair(server, kPort);
  const struct rc_address mine = {port_lid(context), qp->qp_num, 100, mr->rkey, (uintptr_t)memory};
  struct rc_address theirs;
  rc_exchange(tcp, &mine, &theirs);
  rc_connect(qp, &mine, &theirs, &(struct rc_options){.mtu = IBV_MTU_1024, .rnr_timer = 1, .reads = 4});
  char byte = 0;
  tcp_write(tcp, &byte, 1);
  tcp_read(tcp, &byte, 1);

  uint32_t posted = 0, done = 0, sent = 0, waiting = 0, arrived = 0, ends = 0;
  uint32_t free_slots = (1u << kSlots) - 1;
  // The last message of each side is marked by its shorter length.
  while (done < kMessages || ends == 0 || posted < kMessages) {
    if (waiting < kSlots && draw(2) == 0) {
      struct ibv_sge sge = {(uintptr_t)received((arrived + waiting) % kSlots), kSlotBytes, mr->lkey};
      struct ibv_recv_wr wr = {.wr_id = kSlots + (arrived + waiting) % kSlots, .sg_list = &sge, .num_sge = 1}, *bad;
      MUST(ibv_post_recv(qp, &wr, &bad) == 0);
      ++waiting;
    }
    look();
    if (posted < kMessages - 1 && free_slots != 0) {
      const uint32_t slot = (uint32_t)__builtin_ctz(free_slots);
      free_slots &= free_slots - 1;
      sent += (uint32_t)post_one(qp, mr, &theirs, slot);
      ++posted;
    } else if (posted == kMessages - 1 && free_slots != 0) {
      const uint32_t slot = (uint32_t)__builtin_ctz(free_slots);
      free_slots &= free_slots - 1;
      struct ibv_sge sge = {(uintptr_t)to_send(slot), 8, mr->lkey};
      struct ibv_send_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_IMM}, *bad;
      wr.send_flags = IBV_SEND_SIGNALED;
      MUST(ibv_post_send(qp, &wr, &bad) == 0);
      ++posted;
    }
    scribble();
    struct ibv_wc wc[2];
    const int n = ibv_poll_cq(cq, 2, wc);
    MUST(n >= 0);
    for (int i = 0; i < n; ++i) {
      MUST(wc[i].status == IBV_WC_SUCCESS);
      see(wc[i].wr_id * 31 + wc[i].byte_len);
      if (wc[i].opcode & IBV_WC_RECV) {
        see((unsigned char)received((uint32_t)wc[i].wr_id - kSlots)[wc[i].byte_len - 1]);
        ++arrived;
        --waiting;
        if (wc[i].wc_flags & IBV_WC_WITH_IMM) ++ends;
      } else {
        free_slots |= 1u << wc[i].wr_id;
        ++done;
      }
    }
    if (n == 0) look();
    if (draw(4) == 0) {
      struct timespec now;
      clock_gettime(CLOCK_MONOTONIC, &now);
      see((uint64_t)now.tv_nsec);
    }
  }
  printf("%u sent, %u arrived, %016llx\n", sent, arrived, (unsigned long long)seen);
  tcp_write(tcp, &byte, 1);
  tcp_read(tcp, &byte, 1);
  return 0;
}
