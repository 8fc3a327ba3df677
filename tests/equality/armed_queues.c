// Both sides send to each other without a pause and arm their completion queues at every possible moment:
// before, between and after polls. Whether and when an arm raises an event depends on the entries polled when
// the adapter processes the arm. Observed completions and events are combined in one number.
#include <fcntl.h>
#include <poll.h>
#include <time.h>

#include "tests/equality/drawn_steps.h"
#include "tests/equality/rc_pair.h"

enum { kPort = 18730, kSlots = 16, kSlotBytes = 256, kMessages = 700 };

static char* memory;  // slots to send from, slots to receive to
static struct ibv_cq* queues[2];
static struct ibv_comp_channel* channel;
static struct ibv_qp* qp;
static struct ibv_mr* mr;
static uint32_t posted, done, arrived, waiting, events, arms;
static uint32_t free_slots = (1u << kSlots) - 1;

static void note_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  see((uint64_t)now.tv_nsec);
}

static void post_receive(void) {
  const uint32_t slot = kSlots + (arrived + waiting) % kSlots;
  struct ibv_sge sge = {(uintptr_t)memory + (size_t)slot * kSlotBytes, kSlotBytes, mr->lkey};
  struct ibv_recv_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1}, *bad;
  MUST(ibv_post_recv(qp, &wr, &bad) == 0);
  ++waiting;
}

static void post_send(void) {
  const uint32_t slot = (uint32_t)__builtin_ctz(free_slots);
  free_slots &= free_slots - 1;
  struct ibv_sge sge = {(uintptr_t)memory + (size_t)slot * kSlotBytes, 1 + draw(kSlotBytes), mr->lkey};
  struct ibv_send_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
  wr.send_flags = IBV_SEND_SIGNALED | (draw(3) == 0 ? IBV_SEND_SOLICITED : 0);
  MUST(ibv_post_send(qp, &wr, &bad) == 0);
  ++posted;
}

static void look(struct ibv_cq* cq) {
  struct ibv_wc wc[3];
  const int n = ibv_poll_cq(cq, 1 + (int)draw(3), wc);
  MUST(n >= 0);
  for (int i = 0; i < n; ++i) {
    MUST(wc[i].status == IBV_WC_SUCCESS);
    see(wc[i].wr_id * 31 + wc[i].byte_len);
    if (wc[i].opcode & IBV_WC_RECV) {
      ++arrived;
      --waiting;
    } else {
      free_slots |= 1u << wc[i].wr_id;
      ++done;
    }
  }
}

static void arm(struct ibv_cq* cq) {
  MUST(ibv_req_notify_cq(cq, draw(3) == 0) == 0);
  ++arms;
}

// Takes the events that are there.
static void take_events(void) {
  struct ibv_cq* cq;
  void* context;
  while (ibv_get_cq_event(channel, &cq, &context) == 0) {
    ibv_ack_cq_events(cq, 1);
    see(cq == queues[1] ? 77 : 78);
    note_time();
    ++events;
  }
  MUST(errno == EAGAIN);
}

int main(int argc, char** argv) {
  const char* const server = argc > 1 ? argv[1] : NULL;
  setvbuf(stdout, NULL, _IOLBF, 0);
  state = server == NULL ? 23 : 1848;
  struct ibv_context* context = open_first_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  channel = ibv_create_comp_channel(context);
  MUST(pd != NULL && channel != NULL && fcntl(channel->fd, F_SETFL, O_NONBLOCK) == 0);
  for (int i = 0; i < 2; ++i) {
    queues[i] = ibv_create_cq(context, 2 * kSlots, NULL, channel, 0);
    MUST(queues[i] != NULL);
  }
  memory = chosen_memory(2 * kSlots * kSlotBytes);
  mr = ibv_reg_mr(pd, memory, 2 * kSlots * kSlotBytes, IBV_ACCESS_LOCAL_WRITE);
  struct ibv_qp_init_attr init = {.send_cq = queues[0], .recv_cq = queues[1], .qp_type = IBV_QPT_RC};
  init.cap.max_send_wr = init.cap.max_recv_wr = kSlots;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  qp = ibv_create_qp(pd, &init);
  MUST(mr != NULL && qp != NULL);
  const int tcp = tcp_pair(server, kPort);
  const struct rc_address mine = {port_lid(context), qp->qp_num, 100, mr->rkey, (uintptr_t)memory};
  struct rc_address theirs;
  rc_exchange(tcp, &mine, &theirs);
  rc_connect(qp, &mine, &theirs, &(struct rc_options){.mtu = IBV_MTU_1024, .rnr_timer = 1, .reads = 4});
  char byte = 0;
  tcp_write(tcp, &byte, 1);
  tcp_read(tcp, &byte, 1);

  while (done < kMessages || arrived < kMessages) {
    struct ibv_cq* const cq = queues[draw(2)];
    switch (draw(8)) {
      case 0:
      case 1:
        if (posted < kMessages && free_slots != 0) post_send();
        break;
      case 2:
        if (waiting < kSlots) post_receive();
        break;
      case 3:
        arm(cq);
        break;
      case 4:
        arm(cq);
        look(cq);
        break;
      case 5:
        look(cq);
        arm(cq);
        look(cq);
        break;
      case 6:
        look(cq);
        break;
      case 7:
        if (draw(4) == 0) take_events();
        if (draw(8) == 0) {
          struct pollfd wanted = {channel->fd, POLLIN, 0};
          see((uint64_t)poll(&wanted, 1, 0));
        }
        break;
    }
    if (draw(6) == 0) note_time();
  }
  printf("%u armed, %u events, %016llx\n", arms, events, (unsigned long long)seen);
  tcp_write(tcp, &byte, 1);
  tcp_read(tcp, &byte, 1);
  return 0;
}
