// A random verbs program: `random_program SEED` on one host, `random_program SEED SERVER` on the other. Both
// ends draw the same rounds (messages, RDMA WRITEs that set a flag, RDMA READs, second threads, condition
// variables, alarms; with an m after SEED, memory of all kinds), and each does its part at random. It prints
// everything observed: completions, checksums of memory written by the other end, clocks.
#include "tests/equality/random_program.h"

#include <signal.h>

struct program my;
__thread struct chance* mine;

void say(const char* format, ...) {
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  const int n = vsnprintf(line, sizeof line - 1, format, arguments);
  va_end(arguments);
  line[n] = '\n';
  MUST(write(1, line, (size_t)n + 1) == n + 1);
}

uint32_t checksum(const void* bytes, size_t length) {
  const volatile uint8_t* const data = bytes;
  uint32_t sum = 2166136261u;
  for (size_t i = 0; i < length; ++i) sum = (sum ^ data[i]) * 16777619u;
  return sum;
}

static int is_atomic(const struct job* job) {
  return job->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || job->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
}

static void post_extended(struct connection* c, const struct job* job) {
  struct ibv_qp_ex* const qp = c->extended;
  ibv_wr_start(qp);
  qp->wr_id = c->sends_posted;
  qp->wr_flags = job->flags & ~(unsigned)IBV_SEND_INLINE;
  switch (job->opcode) {
    case IBV_WR_SEND:
      ibv_wr_send(qp);
      break;
    case IBV_WR_SEND_WITH_IMM:
      ibv_wr_send_imm(qp, htonl(7));
      break;
    case IBV_WR_RDMA_WRITE:
      ibv_wr_rdma_write(qp, c->theirs.rkey, job->remote);
      break;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      ibv_wr_rdma_write_imm(qp, c->theirs.rkey, job->remote, htonl(7));
      break;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      ibv_wr_atomic_fetch_add(qp, c->theirs.rkey, job->remote, draw(mine, 1000));
      break;
    case IBV_WR_ATOMIC_CMP_AND_SWP: {
      const uint64_t compare = draw(mine, 2);
      ibv_wr_atomic_cmp_swp(qp, c->theirs.rkey, job->remote, compare, draw(mine, 1000));
      break;
    }
    default:
      ibv_wr_rdma_read(qp, c->theirs.rkey, job->remote);
      break;
  }
  if (job->flags & IBV_SEND_INLINE) {
    ibv_wr_set_inline_data(qp, job->local, job->length);
  } else {
    ibv_wr_set_sge(qp, my.mr->lkey, (uint64_t)(uintptr_t)job->local, job->length);
  }
  MUST(ibv_wr_complete(qp) == 0);
}

void post(struct connection* c, struct job job) {
  ++c->sends_posted;
  if (job.opcode != IBV_WR_RDMA_READ && !is_atomic(&job) && job.length <= kInlineMax && draw(mine, 2) == 0)
    job.flags |= IBV_SEND_INLINE;
  if (c->extended != NULL && draw(mine, 2) == 0) {
    post_extended(c, &job);
    return;
  }
  struct ibv_sge sge = {(uint64_t)(uintptr_t)job.local, job.length, my.mr->lkey};
  struct ibv_sge halves[2] = {sge, sge};
  struct ibv_send_wr wr = {.wr_id = c->sends_posted, .sg_list = &sge, .num_sge = 1, .opcode = job.opcode};
  struct ibv_send_wr* bad = NULL;
  if (job.length > 1 && !is_atomic(&job) && draw(mine, 3) == 0) {
    halves[0].length = 1 + (uint32_t)draw(mine, job.length - 1);
    halves[1].addr += halves[0].length;
    halves[1].length -= halves[0].length;
    wr.sg_list = halves;
    wr.num_sge = 2;
  }
  wr.send_flags = job.flags;
  wr.imm_data = htonl(7);
  wr.wr.rdma.rkey = c->theirs.rkey;
  wr.wr.rdma.remote_addr = job.remote;
  if (is_atomic(&job)) {
    wr.wr.atomic.rkey = c->theirs.rkey;
    wr.wr.atomic.remote_addr = job.remote;
    wr.wr.atomic.compare_add = draw(mine, 2);
    wr.wr.atomic.swap = draw(mine, 1000);
  }
  MUST(ibv_post_send(c->qp, &wr, &bad) == 0);
}

static void post_receive(int qp, int message) {
  struct connection* const c = &my.connections[qp];
  struct ibv_sge sge = {(uint64_t)(uintptr_t)arrival(qp, message), kSlot, my.mr->lkey};
  struct ibv_recv_wr wr = {.wr_id = kFirstReceive + (uint64_t)message, .sg_list = &sge, .num_sge = 1}, *bad = NULL;
  ++c->receives_posted;
  MUST(ibv_post_recv(c->qp, &wr, &bad) == 0);
}

struct sequence {
  int qp, count;
  uint32_t lengths[kMessagesMax];
};

static struct sequence draw_sequence(int qp) {
  struct sequence s = {.qp = qp, .count = 1 + (int)draw(&my.shared, kMessagesMax)};
  for (int i = 0; i < kMessagesMax; ++i) {
    const uint32_t magnitude[] = {1, 9, 129, 4096, 4098, 20000};
    s.lengths[i] = (uint32_t)draw(&my.shared, magnitude[draw(&my.shared, 6)]);
  }
  return s;
}

static void send_all(const struct sequence* s) {
  struct connection* const c = &my.connections[s->qp];
  const int each = (int)draw(mine, 2);
  for (int i = 0; i < s->count; ++i) {
    const enum ibv_wr_opcode opcode = draw(mine, 4) == 0 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
    departure(s->qp, i)[draw(mine, 64)] ^= (uint8_t)draw(mine, 256);
    const int signaled = each || i + 1 == s->count;
    post(c, (struct job){opcode, departure(s->qp, i), 0, s->lengths[i], signaled ? IBV_SEND_SIGNALED : 0});
    // Too early for the adapter: whether it sends the old byte or the new one is a matter of time.
    if (draw(mine, 4) == 0) departure(s->qp, i)[draw(mine, 64)] ^= 1;
    if (draw(mine, 3) == 0) dawdle(1);
  }
  wait_for_completions(c, &c->sends_done, c->sends_posted);
}

static void receive_all(const struct sequence* s) {
  struct connection* const c = &my.connections[s->qp];
  const uint64_t before = c->receives_posted;
  const int how = (int)draw(mine, 3);
  if (how == 1) dawdle(3);
  for (int i = 0; i < s->count; ++i) {
    post_receive(s->qp, i);
    if (how == 2) wait_for_completions(c, &c->receives_done, before + (uint64_t)i + 1);
  }
  wait_for_completions(c, &c->receives_done, before + (uint64_t)s->count);
  for (int i = 0; i < s->count; ++i) say("message %d: %08x", i, checksum(arrival(s->qp, i), s->lengths[i]));
}

void barrier(void) {
  char mark = 'b';
  tcp_write(my.tcp, &mark, 1);
  if (draw(mine, 3) == 0) {
    int turns = 0;
    while (recv(my.tcp, &mark, 1, MSG_DONTWAIT) != 1) ++turns, usleep(1);
    say("barrier after %d looks", turns);
  } else {
    tcp_read(my.tcp, &mark, 1);
  }
}

static void message_round(void) {
  const struct sequence s = draw_sequence((int)draw(&my.shared, kQps));
  if ((int)draw(&my.shared, 2) == my.is_client) {
    send_all(&s);
  } else {
    receive_all(&s);
  }
}

static void both_ways_round(void) {
  const int qp = (int)draw(&my.shared, kQps);
  struct connection* const c = &my.connections[qp];
  struct sequence there = draw_sequence(qp), back = draw_sequence(qp);
  const struct sequence* const out = my.is_client ? &there : &back;
  const struct sequence* const in = my.is_client ? &back : &there;
  for (int i = 0; i < in->count; ++i) post_receive(qp, i);
  const uint64_t target = c->receives_posted;
  send_all(out);
  wait_for_completions(c, &c->receives_done, target);
}

// Ping-pong by RDMA WRITE: data, then a flag, answered by a flag.
static void flag_round(int round) {
  const int qp = (int)draw(&my.shared, kQps), times = 1 + (int)draw(&my.shared, 6);
  const int client_first = (int)draw(&my.shared, 2), index = (int)draw(&my.shared, 4);
  struct connection* const c = &my.connections[qp];
  const struct sequence s = draw_sequence(qp);
  static uint32_t values[4];
  (void)round;
  for (int i = 0; i < times; ++i) {
    const uint32_t value = ++values[index];
    if ((client_first ^ (i & 1)) == my.is_client) {
      for (int k = 0; k < s.count; ++k) {
        post(c, (struct job){IBV_WR_RDMA_WRITE, departure(qp, k), their(c, arrival(qp, k)), s.lengths[k], 0});
      }
      uint32_t* const source = (uint32_t*)departure(qp, kMessagesMax - 1);
      *source = value;
      post(c, (struct job){IBV_WR_RDMA_WRITE, (uint8_t*)source, their(c, (const void*)flag(index)), 4,
                           IBV_SEND_SIGNALED});
      *flag(index) = value;
      wait_for_completions(c, &c->sends_done, c->sends_posted);
    } else {
      wait_for_flag(index, value);
      if (draw(mine, 2) == 0) say("written %08x", checksum(arrival(qp, 0), s.lengths[0]));
    }
  }
}

static void read_round(void) {
  const int qp = (int)draw(&my.shared, kQps);
  struct connection* const c = &my.connections[qp];
  const struct sequence s = draw_sequence(qp);
  if ((int)draw(&my.shared, 2) == my.is_client) {
    for (int i = 0; i < s.count; ++i) {
      post(c, (struct job){IBV_WR_RDMA_READ, arrival(qp, i), their(c, departure(qp, i)), s.lengths[i],
                           i + 1 == s.count ? IBV_SEND_SIGNALED : 0});
    }
    dawdle((int)draw(mine, 3));
    wait_for_completions(c, &c->sends_done, c->sends_posted);
    for (int i = 0; i < s.count; ++i) say("read %d: %08x", i, checksum(arrival(qp, i), s.lengths[i]));
  } else {
    // Memory that is being read changes meanwhile.
    for (int i = 0; i < 4; ++i) departure(qp, i)[draw(mine, 64)] += 1, dawdle(1);
  }
}

struct helper {
  struct chance chance;
  struct sequence sequence;
  int sends;
};

static void* help(void* argument) {
  struct helper* const helper = argument;
  mine = &helper->chance;
  dawdle((int)draw(mine, 3));
  helper->sends ? send_all(&helper->sequence) : receive_all(&helper->sequence);
  return NULL;
}

// A second thread with the second queue pair, beside the first with the first.
static void thread_round(void) {
  const struct sequence first = draw_sequence(0);
  const int sends = (int)draw(&my.shared, 2) == my.is_client;
  struct helper helper = {.sequence = draw_sequence(1)};
  helper.sends = (int)draw(&my.shared, 2) == my.is_client;
  helper.chance.state = draw(mine, 1u << 30);
  pthread_t thread;
  my.with_threads = 1;
  MUST(pthread_create(&thread, NULL, help, &helper) == 0);
  sends ? send_all(&first) : receive_all(&first);
  MUST(pthread_join(thread, NULL) == 0);
  my.with_threads = 0;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static volatile int stage;

static void* answer(void* argument) {
  struct helper* const helper = argument;
  mine = &helper->chance;
  pthread_mutex_lock(&mutex);
  while (stage != 1) pthread_cond_wait(&condition, &mutex);
  stage = 2;
  pthread_mutex_unlock(&mutex);
  dawdle(2);
  pthread_mutex_lock(&mutex);
  stage = 3;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

// A second thread waits on a condition variable while the first one works; then they change roles.
static void condition_round(void) {
  struct helper helper = {.chance = {draw(mine, 1u << 30)}};
  pthread_t thread;
  stage = 0;
  my.with_threads = 1;
  MUST(pthread_create(&thread, NULL, answer, &helper) == 0);
  message_round();
  pthread_mutex_lock(&mutex);
  stage = 1;
  pthread_cond_signal(&condition);
  if (draw(mine, 2) == 0) {
    while (stage != 3) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
  } else {
    pthread_mutex_unlock(&mutex);
    while (stage != 3) {
    }
  }
  MUST(pthread_join(thread, NULL) == 0);
  my.with_threads = 0;
}

static volatile sig_atomic_t alarms;

static void on_alarm(int signal) {
  (void)signal;
  alarms = alarms + 1;
}

static void alarm_round(void) {
  const sig_atomic_t before = alarms;
  const struct itimerval timer = {{0, 0}, {0, 1 + (suseconds_t)draw(mine, 60)}};
  MUST(setitimer(ITIMER_REAL, &timer, NULL) == 0);
  const uint64_t how = draw(mine, 4);
  struct ibv_wc wc;
  int n = 0;
  if (how == 0) {
    while (alarms == before) {
    }
  } else if (how == 1) {
    // Between rounds only packets that the other end has already sent are in flight; these stay queued.
    while (alarms == before && (n = ibv_poll_cq(my.connections[0].cq, 0, &wc)) == 0) {
    }
  } else if (how == 2) {
    message_round();
    while (alarms == before) usleep(1);
    say("alarm");
    return;
  } else {
    // The alarm may have arrived just before: checking and waiting must be one step.
    sigset_t alarm_only, open;
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    MUST(sigprocmask(SIG_BLOCK, &alarm_only, &open) == 0);
    while (alarms == before) sigsuspend(&open);
    MUST(sigprocmask(SIG_SETMASK, &open, NULL) == 0);
  }
  say("alarm");
  message_round();
}

void connect_queue_pair(int index, struct ibv_cq* cq, int access, uint32_t rkey, uint64_t address) {
  struct connection* const c = &my.connections[index];
  struct ibv_qp_init_attr_ex attributes = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC};
  attributes.cap = (struct ibv_qp_cap){64, 64, 2, 2, kInlineMax};
  attributes.pd = my.pd;
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
  const int extended = (int)draw(&my.own, 2);
  if (extended) {
    attributes.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attributes.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE |
                                IBV_QP_EX_WITH_RDMA_READ;
    if (index == kOwnQp) {
      attributes.send_ops_flags |= IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
                                   IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP;
    }
  }
  c->cq = cq;
  c->qp = ibv_create_qp_ex(my.context, &attributes);
  MUST(c->qp != NULL);
  c->extended = extended ? ibv_qp_to_qp_ex(c->qp) : NULL;
  const struct rc_address here = {port_lid(my.context), c->qp->qp_num, (uint32_t)draw(&my.own, 1 << 24), rkey, address};
  rc_exchange(my.tcp, &here, &c->theirs);
  struct rc_options options = my.options;
  options.access = access;
  if (index == kOwnQp) options.timeout = 8;  // that of an end that has failed is waited for
  rc_connect(c->qp, &here, &c->theirs, &options);
}

static void set_up(const char* server) {
  static const enum ibv_mtu mtus[] = {IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048, IBV_MTU_4096};
  const int one_queue = (int)draw(&my.own, 2);
  my.options = (struct rc_options){mtus[draw(&my.shared, 5)], (uint8_t)(1 + draw(&my.shared, 8)), 4, 0, 0};
  my.tcp = tcp_pair(server, 18515);
  my.context = open_first_device();
  my.pd = ibv_alloc_pd(my.context);
  MUST(my.pd != NULL);
  my.memory = chosen_memory(kMemory);
  for (int i = 0; i < kArea; ++i) departure(0, 0)[i] = (uint8_t)(i * 7 + (i >> 8) + my.is_client);
  my.mr = ibv_reg_mr(my.pd, my.memory, kMemory,
                     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  my.channel = ibv_create_comp_channel(my.context);
  MUST(my.mr != NULL && my.channel != NULL);
  for (int i = 0; i < kQps; ++i) {
    struct ibv_cq* const cq = i > 0 && one_queue ? my.connections[0].cq
                                                 : ibv_create_cq(my.context, 256, (void*)(intptr_t)i, my.channel, 0);
    MUST(cq != NULL);
    connect_queue_pair(i, cq, 0, my.mr->rkey, (uint64_t)(uintptr_t)my.memory);
  }
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  char* rest = NULL;
  const uint64_t seed = strtoull(argv[1], &rest, 0);
  const int with_places = *rest == 'm';
  my.is_client = argc > 2;
  my.shared.state = seed;
  my.own.state = seed * 2 + (uint64_t)my.is_client + 0x5eed;
  mine = &my.own;
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  MUST(sigaction(SIGALRM, &action, NULL) == 0);
  set_up(argc > 2 ? argv[2] : NULL);
  barrier();
  const int rounds = 4 + (int)draw(&my.shared, 12);
  for (int round = 0; round < rounds; ++round) {
    const uint64_t kind = draw(&my.shared, with_places ? 20 : 12);
    say("round %d of kind %d", round, (int)kind);
    dawdle((int)draw(mine, 3));
    if (kind < 3) message_round();
    if (kind == 3) both_ways_round();
    if (kind >= 4 && kind < 7) flag_round(round);
    if (kind == 7) read_round();
    if (kind == 8) thread_round();
    if (kind == 9) condition_round();
    if (kind == 10) alarm_round();
    if (kind == 11) barrier();
    if (kind > 11) place_round();
  }
  barrier();
  say("all: %08x", checksum(my.memory, kMemory));
  return 0;
}
