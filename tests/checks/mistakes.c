// Programs with a mistake that a check finds: `mistakes CASE buggy|fixed` on the server, with `server`
// appended on the client. All of them end. The comment at each case names the host with the mistake.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/litmus/litmus.h"

enum { kBytes = 64, kBig = 4096, kSlots = 4 };

static struct litmus my;
static int is_gone;  // set before objects are destroyed

static int is_server(void) { return my.server == NULL; }

static void receive_one(void) {
  if (is_server()) litmus_wait(my.recv_cq);
}

// The client writes to the buffer of a send before its completion: `fixed` after it.
static void send_buffer(void) {
  if (is_server()) {
    litmus_recv(&my, 0, 1, my.memory, kBig);
    litmus_recv(&my, 0, 2, my.memory, kBig);
  }
  litmus_meet(&my);
  for (int i = 0; i < 2; ++i) {
    if (!is_server()) {
      memset(my.memory, 1 + i, kBig);
      MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBig, 0, IBV_SEND_SIGNALED) == 0);
      if (!my.is_fixed) my.memory[0] = 0xff;
      litmus_wait(my.send_cq);
      if (my.is_fixed) my.memory[0] = 0xff;
    }
    receive_one();
  }
  litmus_meet(&my);
}

// The client writes to the buffer of a send what it holds already; `fixed` does so after the completion.
static void same_bytes(void) {
  if (is_server()) {
    for (int i = 0; i < 8; ++i) litmus_recv(&my, 0, 1, my.memory, kBytes);
    litmus_meet(&my);
    for (int i = 0; i < 8; ++i) litmus_wait(my.recv_cq);
    return litmus_meet(&my);
  }
  litmus_meet(&my);
  for (int i = 0; i < 8; ++i) {
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    if (my.is_fixed) litmus_wait(my.send_cq);
    *(volatile uint8_t*)my.memory = 0;
    if (!my.is_fixed) litmus_wait(my.send_cq);
  }
  litmus_meet(&my);
}

// The server arms its CQ while it holds a completion and sleeps; `fixed` polls again before it does.
static void missed_wakeup(void) {
  if (is_server()) {
    litmus_recv(&my, 0, 1, my.memory, kBytes);
    litmus_recv(&my, 0, 2, my.memory, kBytes);
  }
  litmus_meet(&my);
  if (!is_server()) {
    for (int i = 0; i < 2; ++i) {
      MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
      litmus_wait(my.send_cq);
      litmus_meet(&my);
    }
    return litmus_meet(&my);
  }
  litmus_meet(&my);  // one completion is there
  MUST(ibv_req_notify_cq(my.recv_cq, 0) == 0);
  struct ibv_wc wc;
  if (my.is_fixed) MUST(ibv_poll_cq(my.recv_cq, 1, &wc) == 1);
  struct ibv_cq* cq;
  void* context;
  MUST(ibv_get_cq_event(my.channel, &cq, &context) == 0);
  ibv_ack_cq_events(cq, 1);
  litmus_meet(&my);
  litmus_wait(my.recv_cq);
  if (!my.is_fixed) litmus_wait(my.recv_cq);
  litmus_meet(&my);
}

// The server arms its CQ while it holds two completions, polls one of them, and takes an event that the adapter raises for
// them; `fixed` polls both.
static void missed_wakeup_of_some(void) {
  if (is_server()) {
    for (int i = 0; i < 3; ++i) litmus_recv(&my, 0, 1, my.memory, kBytes);
  }
  litmus_meet(&my);
  if (!is_server()) {
    for (int i = 0; i < 3; ++i) {
      if (i == 2) litmus_meet(&my);
      if (i == 2 && !my.is_fixed) litmus_meet(&my);
      MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
      litmus_wait(my.send_cq);
      if (i == 1) litmus_meet(&my);
    }
    return litmus_meet(&my);
  }
  litmus_meet(&my);  // two completions are there
  MUST(ibv_req_notify_cq(my.recv_cq, 0) == 0);
  litmus_wait(my.recv_cq);
  if (my.is_fixed) litmus_wait(my.recv_cq);
  litmus_meet(&my);
  struct ibv_cq* cq;
  void* context;
  MUST(ibv_get_cq_event(my.channel, &cq, &context) == 0);
  ibv_ack_cq_events(cq, 1);
  if (!my.is_fixed) {
    litmus_meet(&my);
    litmus_wait(my.recv_cq);
  }
  litmus_wait(my.recv_cq);
  litmus_meet(&my);
}

// The server writes to the buffer of a posted receive before the message arrives; `fixed` writes before it
// posts the receive, to a buffer that a WRITE and another message have reached meanwhile.
static void receive_buffer(void) {
  if (is_server()) {
    if (my.is_fixed) my.memory[0] = 0xff;
    litmus_recv(&my, 0, 1, my.memory, kBig);
    litmus_recv(&my, 0, 2, my.memory, kBig);
    litmus_recv(&my, 0, 3, my.memory + kBig, kBytes);
  }
  litmus_meet(&my);
  if (is_server() && !my.is_fixed) my.memory[0] = 0xff;
  if (is_server() && !my.is_fixed) my.memory[kBig] = 0xff;
  litmus_meet(&my);
  if (!is_server()) {
    memset(my.memory, 3, kBig);
    if (my.is_fixed) {
      MUST(litmus_send(&my, 0, IBV_WR_RDMA_WRITE, my.memory, kBytes, kBig, IBV_SEND_SIGNALED) == 0);
      litmus_wait(my.send_cq);
    }
    for (int i = 0; i < 3; ++i) {
      MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
      litmus_wait(my.send_cq);
    }
  }
  for (int i = 0; i < 3; ++i) receive_one();
  litmus_meet(&my);
}

// The server posts the first receive of a connection after it has sent a ready message; `fixed` posts it
// before, as soon as the queue pair accepts messages. The client does not retry without limit.
static void late_receive(void) {
  struct ibv_qp_init_attr init = {.send_cq = my.send_cq, .recv_cq = my.recv_cq, .qp_type = IBV_QPT_RC};
  init.cap.max_send_wr = init.cap.max_recv_wr = kSlots;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  struct ibv_qp* const first = my.qp[0];
  my.qp[0] = ibv_create_qp(my.pd, &init);
  MUST(my.qp[0] != NULL);
  const struct rc_address mine = {.lid = port_lid(my.context), .qpn = my.qp[0]->qp_num, .psn = 100};
  struct rc_address theirs;
  rc_exchange(my.tcp, &mine, &theirs);
  const struct rc_options options = {.mtu = IBV_MTU_1024, .rnr_timer = 12, .reads = 4, .rnr_ends = 1};
  rc_connect(my.qp[0], &mine, &theirs, &options);
  if (is_server() && my.is_fixed) litmus_recv(&my, 0, 1, my.memory, kBytes);
  litmus_meet(&my);
  if (is_server()) {
    if (!my.is_fixed) litmus_recv(&my, 0, 1, my.memory, kBytes);
  } else {
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    litmus_wait(my.send_cq);
  }
  receive_one();
  litmus_meet(&my);
  MUST(ibv_destroy_qp(my.qp[0]) == 0);
  my.qp[0] = first;
}

// The server waits for the last byte of a WRITE and reads the others; `fixed` reads them after polling the
// completion of the next message.
static void write_target(void) {
  volatile const uint8_t* const record = my.memory;
  unsigned sum = 0;
  if (is_server()) litmus_recv(&my, 0, 1, my.memory + kBig, kBytes);
  litmus_meet(&my);
  if (!is_server()) {
    usleep(1000);
    memset(my.memory, 3, kBytes);
    MUST(litmus_send(&my, 0, IBV_WR_RDMA_WRITE, my.memory, kBytes, 0, 0) == 0);
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    litmus_wait(my.send_cq);
  } else {
    while (record[kBytes - 1] == 0) {
    }
    if (my.is_fixed) receive_one();
    for (int i = 0; i < kBytes; ++i) sum += record[i];
    if (!my.is_fixed) receive_one();
    MUST(sum == 3 * kBytes);
  }
  litmus_meet(&my);
}

// The server deregisters the region of a posted receive, the client that of a send; `fixed` does so after the completions.
static void region_in_use(void) {
  static uint8_t other[kBytes];
  struct ibv_mr* mr = ibv_reg_mr(my.pd, other, sizeof other, IBV_ACCESS_LOCAL_WRITE);
  MUST(mr != NULL);
  struct ibv_sge sge = {.addr = (uintptr_t)other, .length = kBytes, .lkey = mr->lkey};
  if (is_server()) {
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
    MUST(ibv_post_recv(my.qp[0], &wr, &bad) == 0);
  }
  litmus_meet(&my);
  if (!is_server()) {
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
    MUST(ibv_post_send(my.qp[0], &wr, &bad) == 0);
    litmus_wait(my.send_cq);
    MUST(ibv_dereg_mr(mr) == 0);
  } else {
    litmus_wait(my.recv_cq);
    if (!my.is_fixed) {
      struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
      MUST(ibv_post_recv(my.qp[0], &wr, &bad) == 0);
    }
    MUST(ibv_dereg_mr(mr) == 0);
  }
  litmus_meet(&my);
}

// The server unmaps the buffer of a posted receive, and the client that of a send before polling its
// completion; `fixed` waits for the completions. Adjacent memory may be unmapped.
static void memory_gone(void) {
  uint8_t* const other = mmap(NULL, 2 * kBig, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MUST(other != MAP_FAILED);
  struct ibv_mr* mr = ibv_reg_mr(my.pd, other, 2 * kBig, IBV_ACCESS_LOCAL_WRITE);
  MUST(mr != NULL);
  struct ibv_sge sge = {.addr = (uintptr_t)other, .length = kBytes, .lkey = mr->lkey};
  if (is_server()) {
    struct ibv_recv_wr wr = {.wr_id = 5, .sg_list = &sge, .num_sge = 1}, *bad;
    MUST(ibv_post_recv(my.qp[0], &wr, &bad) == 0);
  }
  litmus_meet(&my);
  if (!is_server()) {
    struct ibv_send_wr wr = {.wr_id = 6, .sg_list = &sge, .num_sge = 1}, *bad;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    MUST(ibv_post_send(my.qp[0], &wr, &bad) == 0);
    MUST(madvise(other + kBig, kBig, MADV_DONTNEED) == 0);
    if (my.is_fixed) litmus_wait(my.send_cq);
    usleep(1000);
    MUST(madvise(other, kBig, MADV_DONTNEED) == 0);
    if (!my.is_fixed) litmus_wait(my.send_cq);
  } else {
    litmus_wait(my.recv_cq);
    if (!my.is_fixed) {
      struct ibv_recv_wr wr = {.wr_id = 7, .sg_list = &sge, .num_sge = 1}, *bad;
      MUST(ibv_post_recv(my.qp[0], &wr, &bad) == 0);
    }
    MUST(munmap(other, 2 * kBig) == 0);
  }
  litmus_meet(&my);
  // A posted receive is left, for which another check would have a finding.
  is_gone = !my.is_fixed && is_server();
  if (is_gone) MUST(ibv_destroy_qp(my.qp[0]) == 0);
  MUST(ibv_dereg_mr(mr) == 0);
}

// The client recognises a send's completion by its opcode although it failed; `fixed` recognises it by wr_id,
// and reads other fields of successful completions only.
static void undefined_field(void) {
  litmus_meet(&my);
  if (is_server()) return litmus_meet(&my);
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};
  MUST(ibv_modify_qp(my.qp[0], &attributes, IBV_QP_STATE) == 0);
  int sends = 0;
  unsigned bytes = 0;
  for (int i = 0; i < 2; ++i) {
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    struct ibv_wc wc;
    while (ibv_poll_cq(my.send_cq, 1, &wc) == 0) {
    }
    const struct ibv_wc kept = wc;
    if (my.is_fixed) {
      if (kept.wr_id == 0) ++sends;
      if (kept.status == IBV_WC_SUCCESS) bytes += kept.byte_len;
    } else if (kept.opcode == IBV_WC_SEND) {
      ++sends;
    }
  }
  MUST(sends == 2 && bytes == 0);
  litmus_meet(&my);
}

// The client writes with the key of a region that the server deregistered earlier; `fixed` does not.
static void stale_key(void) {
  static uint8_t other[kBytes];
  uint32_t rkey = 0;
  struct ibv_mr* mr = ibv_reg_mr(my.pd, other, sizeof other, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  MUST(mr != NULL);
  tcp_write(my.tcp, &mr->rkey, sizeof mr->rkey);
  tcp_read(my.tcp, &rkey, sizeof rkey);
  uint64_t address = (uintptr_t)other, theirs;
  tcp_write(my.tcp, &address, sizeof address);
  tcp_read(my.tcp, &theirs, sizeof theirs);
  if (is_server()) MUST(ibv_dereg_mr(mr) == 0);
  litmus_meet(&my);
  if (!is_server()) {
    if (!my.is_fixed) {
      my.theirs[0].rkey = rkey;
      my.theirs[0].address = theirs;
      MUST(litmus_send(&my, 0, IBV_WR_RDMA_WRITE, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
      struct ibv_wc wc;
      while (ibv_poll_cq(my.send_cq, 1, &wc) == 0) {
      }
      MUST(wc.status == IBV_WC_REM_ACCESS_ERR);
    }
    MUST(ibv_dereg_mr(mr) == 0);
  }
  litmus_meet(&my);
}

// The client fills its send queue with unsignaled requests; `fixed` signals every fourth.
static void unsignaled(void) {
  if (is_server()) {
    for (uint64_t i = 0; i < 2 * kSlots; ++i) litmus_recv(&my, 0, i, my.memory, kBytes);
  }
  litmus_meet(&my);
  for (int i = 0; i < 2 * kSlots; ++i) {
    if (is_server()) {
      if (my.is_fixed || i < kSlots) litmus_wait(my.recv_cq);
      continue;
    }
    const unsigned flags = my.is_fixed && i % kSlots == kSlots - 1 ? IBV_SEND_SIGNALED : 0;
    const int error = litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, flags);
    MUST(error == 0 || (error == ENOMEM && !my.is_fixed && i >= kSlots));
    if (flags != 0) litmus_wait(my.send_cq);
  }
  litmus_meet(&my);
}

// Two threads of the client poll a single-threaded CQ at the same time; `fixed` lets them poll one after the other.
static struct ibv_cq_ex* single;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* poll_single(void* unused) {
  for (int i = 0; i < 100; ++i) {
    struct ibv_wc wc;
    if (my.is_fixed) pthread_mutex_lock(&lock);
    MUST(ibv_poll_cq(ibv_cq_ex_to_cq(single), 1, &wc) == 0);
    if (my.is_fixed) pthread_mutex_unlock(&lock);
  }
  return unused;
}

static void threads(void) {
  litmus_meet(&my);
  if (!is_server()) {
    struct ibv_cq_init_attr_ex wanted = {
        .cqe = 16, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED};
    single = ibv_create_cq_ex(my.context, &wanted);
    MUST(single != NULL);
    pthread_t other;
    MUST(pthread_create(&other, NULL, poll_single, NULL) == 0);
    poll_single(NULL);
    MUST(pthread_join(other, NULL) == 0);
    MUST(ibv_destroy_cq(ibv_cq_ex_to_cq(single)) == 0);
  }
  litmus_meet(&my);
}

// The server destroys a CQ before its event is acknowledged, which another thread does; `fixed` acknowledges
// the event first.
static void* acknowledge(void* cq) {
  usleep(1000);
  ibv_ack_cq_events(cq, 1);
  return NULL;
}

static void unacknowledged(void) {
  if (is_server()) {
    litmus_recv(&my, 0, 1, my.memory, kBytes);
    MUST(ibv_req_notify_cq(my.recv_cq, 0) == 0);
  }
  litmus_meet(&my);
  if (!is_server()) {
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    litmus_wait(my.send_cq);
    return litmus_meet(&my);
  }
  struct ibv_cq* cq;
  void* context;
  MUST(ibv_get_cq_event(my.channel, &cq, &context) == 0);
  litmus_wait(my.recv_cq);
  litmus_meet(&my);
  pthread_t other;
  if (my.is_fixed) ibv_ack_cq_events(cq, 1);
  if (!my.is_fixed) MUST(pthread_create(&other, NULL, acknowledge, cq) == 0);
  MUST(ibv_destroy_qp(my.qp[0]) == 0 && ibv_destroy_cq(cq) == 0);
  if (!my.is_fixed) MUST(pthread_join(other, NULL) == 0);
  is_gone = 1;
}

// The client writes data that an earlier READ may still be reading; `fixed` posts the WRITE with a fence,
// then a WRITE of the data that the READ returned, which needs no fence of its own.
static void remote_race(void) {
  if (is_server()) memset(my.memory + kBig, 7, 4 * kBytes);
  litmus_meet(&my);
  if (!is_server()) {
    MUST(litmus_send(&my, 0, IBV_WR_RDMA_READ, my.memory, 4 * kBytes, kBig, IBV_SEND_SIGNALED) == 0);
    const unsigned fence = my.is_fixed ? IBV_SEND_FENCE : 0;
    MUST(litmus_send(&my, 0, IBV_WR_RDMA_WRITE, my.memory + kBig / 2, 4 * kBytes, kBig, IBV_SEND_SIGNALED | fence) == 0);
    if (my.is_fixed) MUST(litmus_send(&my, 0, IBV_WR_RDMA_WRITE, my.memory, 4 * kBytes, 0, IBV_SEND_SIGNALED) == 0);
    for (int i = 0; i < 2 + my.is_fixed; ++i) litmus_wait(my.send_cq);
  }
  litmus_meet(&my);
}

// A forked child of the client posts to its queue pair; in `fixed` the client itself posts.
static void forked_context(void) {
  if (is_server()) litmus_recv(&my, 0, 1, my.memory, kBytes);
  litmus_meet(&my);
  if (!is_server()) {
    const pid_t copy = fork();
    MUST(copy >= 0);
    if (copy == 0 && !my.is_fixed) litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED);
    if (copy == 0) _exit(0);
    int status;
    MUST(waitpid(copy, &status, 0) == copy && status == 0);
    if (my.is_fixed) MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    if (my.is_fixed) litmus_wait(my.send_cq);
  } else if (my.is_fixed) {
    litmus_wait(my.recv_cq);
  }
  litmus_meet(&my);
}

// Both programs exit without destroying anything; `fixed` destroys everything.
static void leak(void) { litmus_meet(&my); }

static void destroy_all(void) {
  MUST(ibv_destroy_qp(my.qp[0]) == 0);
  MUST(ibv_destroy_cq(my.send_cq) == 0 && ibv_destroy_cq(my.recv_cq) == 0);
  MUST(ibv_destroy_comp_channel(my.channel) == 0);
  MUST(ibv_dereg_mr(my.mr) == 0);
  MUST(ibv_dealloc_pd(my.pd) == 0);
  MUST(ibv_close_device(my.context) == 0);
}

static const struct {
  const char* name;
  void (*run)(void);
} kCases[] = {{"send-buffer", send_buffer}, {"same-bytes", same_bytes}, {"missed-wakeup", missed_wakeup}, {"missed-wakeup-of-some", missed_wakeup_of_some}, {"region-in-use", region_in_use},
              {"unsignaled", unsignaled},   {"threads", threads},             {"leak", leak},
              {"unacknowledged", unacknowledged}, {"remote-race", remote_race}, {"memory-gone", memory_gone},
              {"receive-buffer", receive_buffer}, {"late-receive", late_receive}, {"undefined-field", undefined_field},
              {"write-target", write_target}, {"stale-key", stale_key}, {"forked-context", forked_context}};

int main(int argc, char** argv) {
  MUST(argc >= 3);
  litmus_start(&my, argc - 1, argv + 1, 1, kSlots, 8192);
  for (size_t i = 0; i < sizeof kCases / sizeof kCases[0]; ++i) {
    if (strcmp(argv[1], kCases[i].name) == 0) kCases[i].run();
  }
  if (!is_gone && (my.is_fixed || strcmp(argv[1], "leak") != 0)) destroy_all();
  return 0;
}
