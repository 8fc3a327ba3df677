// Small tests of the memory model (RDMA^TSO: Ambal et al., OOPSLA 2024; ibv_reg_mr(3), ORDERING SEMANTICS):
// `memory_model CASE ITERATIONS [server]`. In each iteration both ends start with zeros, synchronise, do
// their part and synchronise again. The values read, a and b (server) and c and d (client), are counted, and
// the client prints the number of each outcome: "a=1 b=0: 17". The allowed outcomes are in table.h.
//
// x and y are in the server's memory, on separate cache lines. The server's processor accesses them in
// program order, mostly with a poll of an empty queue between the accesses, because computation alone takes
// no time. Both ends poll for a varying time before each iteration.
#include "tests/litmus/litmus.h"

enum { kX = 0, kY = 256, kLong = 512, kLongBytes = 256, kLocal = 1024, kFetched = 2048, kGo = 3072, kBytes = 4096 };
enum { kMostRegisters = 4, kQueuePairs = 5 };

typedef volatile uint64_t word;

static struct litmus my;
static struct ibv_qp* qps[kQueuePairs];
static uint64_t seen[kMostRegisters];  // a, b, c, d of this iteration

static word* at(uint64_t offset) { return (word*)(my.memory + offset); }

// An empty queue is looked at.
static struct ibv_cq* idle;
static void gap(void) {
  struct ibv_wc wc;
  MUST(ibv_poll_cq(idle, 1, &wc) == 0);
}

static uint32_t drawn;  // another number in each iteration

// Until it is not zero any more, or for some looks; what it holds then.
static uint64_t look_at(const word* place) {
  for (uint32_t looks = drawn >> 8 & 63; looks > 0 && *place == 0; --looks) gap();
  return *place;
}

// Every other time.
static inline __attribute__((always_inline)) void gap_or_not(void) {
  if ((drawn >> 20 & 1) != 0) gap();
}

static void post(int qp, enum ibv_wr_opcode opcode, uint64_t local, uint32_t length, uint64_t remote, unsigned flags) {
  struct ibv_sge sge = {.addr = (uintptr_t)(my.memory + local), .length = length, .lkey = my.mr->lkey};
  struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = length > 0, .opcode = opcode}, *bad;
  wr.send_flags = IBV_SEND_SIGNALED | flags;
  if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    wr.wr.atomic.remote_addr = my.theirs[0].address + remote;
    wr.wr.atomic.rkey = my.theirs[0].rkey;
    wr.wr.atomic.compare_add = 1;
  } else {
    wr.wr.rdma.remote_addr = my.theirs[0].address + remote;
    wr.wr.rdma.rkey = my.theirs[0].rkey;
  }
  MUST(ibv_post_send(qps[qp], &wr, &bad) == 0);
}

static int posted;       // requests whose completions have not been waited for
static word* last_from;  // source of the last WRITE's value

// The value is gathered from a place of its own, so that a late gather finds it.
static void write_to(int qp, uint64_t where, uint64_t value) {
  const uint64_t local = kLocal + (uint64_t)posted * 8;
  last_from = at(local);
  *last_from = value;
  post(qp, IBV_WR_RDMA_WRITE, local, 8, where, 0);
  ++posted;
}

static void read_to(int qp, uint64_t where, uint64_t local, unsigned flags) {
  post(qp, IBV_WR_RDMA_READ, local, 8, where, flags);
  ++posted;
}

static void add_to(int qp, uint64_t where, uint64_t local) {
  post(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, local, 8, where, 0);
  ++posted;
}

static void wait_all(void) {
  for (; posted > 0; --posted) litmus_wait(my.send_cq);
}

// ---- What the server does.

static void nothing(void) {}

static void read_y_then_x(void) {
  seen[0] = look_at(at(kY));
  gap_or_not();
  seen[1] = *at(kX);
}

static void read_x_twice(void) {
  seen[0] = look_at(at(kX));
  gap_or_not();
  seen[1] = *at(kX);
}

static void read_last_then_first(void) {
  seen[0] = look_at(at(kLong + kLongBytes - 8));
  gap_or_not();
  seen[1] = *at(kLong);
}

static void write_x_then_y(void) {
  *at(kX) = 1;
  gap();
  *at(kY) = 1;
}

static void read_y_write_x(void) {
  seen[0] = look_at(at(kY));
  gap_or_not();
  *at(kX) = 1;
}

static void write_y_read_x(void) {
  *at(kY) = 1;
  gap_or_not();
  seen[0] = *at(kX);
}

static void add_to_x(void) {
  const uint64_t before = *at(kX);
  gap();
  *at(kX) = before + 1;
}

static void receive_then_read_x(void) {
  litmus_wait(my.recv_cq);
  seen[0] = *at(kX);
}

static void receive_twice(void) {
  seen[0] = litmus_wait(my.recv_cq);
  seen[1] = litmus_wait(my.recv_cq);
}

static void init_x_5(void) { *at(kX) = 5; }
static void post_receive(void) { litmus_recv(&my, 0, 0, my.memory + kFetched, 8); }
static void post_receives(void) {
  litmus_recv(&my, 0, 1, my.memory + kFetched, 8);
  litmus_recv(&my, 1, 2, my.memory + kFetched + 8, 8);
}

// ---- The client's part. Fetched values are at kFetched and after.

static void writes_one_queue(void) { write_to(0, kX, 1), write_to(0, kY, 1); }
static void writes_two_queues(void) { write_to(0, kX, 1), write_to(1, kY, 1); }
static void write_wait_write(void) { write_to(0, kX, 1), wait_all(), write_to(1, kY, 1); }
static void write_send(void) { write_to(0, kX, 1), post(0, IBV_WR_SEND, kLocal + 512, 8, 0, 0), ++posted; }
static void write_imm(void) { *at(kLocal) = 1, post(0, IBV_WR_RDMA_WRITE_WITH_IMM, kLocal, 8, kX, 0), ++posted; }
static void write_send_two_queues(void) { write_to(1, kX, 1), post(0, IBV_WR_SEND, kLocal + 512, 8, 0, 0), ++posted; }
static void write_atomic(void) { write_to(0, kX, 1), add_to(0, kY, kFetched); }
static void sends_two_queues(void) {
  for (int qp = 0; qp < 2; ++qp) post(qp, IBV_WR_SEND, kLocal + 512, 8, 0, 0), ++posted;
}
static void reads_one_queue(void) { read_to(0, kY, kFetched, 0), read_to(0, kX, kFetched + 8, 0); }
static void reads_two_queues(void) { read_to(0, kY, kFetched, 0), read_to(1, kX, kFetched + 8, 0); }
static void read_wait_read(void) { read_to(0, kY, kFetched, 0), wait_all(), read_to(1, kX, kFetched + 8, 0); }
static void read_x_write_y(void) { read_to(0, kX, kFetched, 0), write_to(0, kY, 1); }
static void fenced_write(uint64_t where) {
  *at(kLocal) = 1;
  post(0, IBV_WR_RDMA_WRITE, kLocal, 8, where, IBV_SEND_FENCE);
  ++posted;
}
static void read_x_fence_write_y(void) { read_to(0, kX, kFetched, 0), fenced_write(kY); }
static void read_x_write_x(void) { read_to(0, kX, kFetched, 0), write_to(0, kX, 1); }
static void read_x_fence_write_x(void) { read_to(0, kX, kFetched, 0), fenced_write(kX); }
static void write_x_read_x(void) { write_to(0, kX, 1), read_to(0, kX, kFetched, 0); }
static void write_x_read_x_two_queues(void) { write_to(0, kX, 1), read_to(1, kX, kFetched, 0); }
static void write_x_read_y(void) { write_to(0, kX, 1), read_to(0, kY, kFetched, 0); }
static void write_x_read_y_two_queues(void) { write_to(0, kX, 1), read_to(1, kY, kFetched, 0); }
static void reuse(void) { write_to(0, kX, 1), gap(), *last_from = 2; }
static void wait_reuse(void) { write_to(0, kX, 1), wait_all(), *last_from = 2; }
static void copy(void) {
  read_to(0, kX, kFetched, 0);
  post(0, IBV_WR_RDMA_WRITE, kFetched, 8, kY, 0), ++posted;
}
static void copy_fence(void) {
  read_to(0, kX, kFetched, 0);
  post(0, IBV_WR_RDMA_WRITE, kFetched, 8, kY, IBV_SEND_FENCE), ++posted;
}
static void write_x_1_2(void) { write_to(0, kX, 1), write_to(0, kX, 2); }
static void write_x_1_2_two_queues(void) { write_to(0, kX, 1), write_to(1, kX, 2); }
static void write_x_1(void) { write_to(0, kX, 1); }
static void adds_two_queues(void) { add_to(0, kX, kFetched), add_to(1, kX, kFetched + 8); }
static void add_x(void) { add_to(0, kX, kFetched); }
static void write_long(void) {
  for (int i = 0; i < kLongBytes / 8; ++i) *at(kLocal + 8 * (uint64_t)i) = 1;
  post(0, IBV_WR_RDMA_WRITE, kLocal, kLongBytes, kLong, 0), ++posted;
}
// Two that write, on queues of their own, and a reader beside the processor.
static void iriw(void) {
  write_to(0, kX, 1), write_to(1, kY, 1);
  read_to(2, kX, kFetched, 0), read_to(2, kY, kFetched + 8, 0);
}

// `final`: x as it is at the end is the server's last value.
static const struct memory_case {
  const char* name;
  void (*prepare)(void);  // of the server, before the first meeting
  void (*server)(void);
  void (*client)(void);
  const char* registers;  // printed registers, of "abcd"; "x" and "y": the final values
} kCases[] = {
    {"mp-write-write", nothing, read_y_then_x, writes_one_queue, "ab"},
    {"mp-write-write-2qp", nothing, read_y_then_x, writes_two_queues, "ab"},
    {"mp-write-wait-write-2qp", nothing, read_y_then_x, write_wait_write, "ab"},
    {"mp-write-send", post_receive, receive_then_read_x, write_send, "a"},
    {"mp-write-send-2qp", post_receive, receive_then_read_x, write_send_two_queues, "a"},
    {"mp-write-imm", post_receive, receive_then_read_x, write_imm, "a"},
    {"mp-write-atomic", nothing, read_y_then_x, write_atomic, "ab"},
    {"mp-send-send-2qp", post_receives, receive_twice, sends_two_queues, "ab"},
    {"mp-read-read", nothing, write_x_then_y, reads_one_queue, "cd"},
    {"mp-read-read-2qp", nothing, write_x_then_y, reads_two_queues, "cd"},
    {"mp-read-wait-read-2qp", nothing, write_x_then_y, read_wait_read, "cd"},
    {"sb-write-read", nothing, write_y_read_x, write_x_read_y, "ac"},
    {"sb-write-read-2qp", nothing, write_y_read_x, write_x_read_y_two_queues, "ac"},
    {"lb-read-write", nothing, read_y_write_x, read_x_write_y, "ac"},
    {"lb-read-fence-write", nothing, read_y_write_x, read_x_fence_write_y, "ac"},
    {"iriw", nothing, read_y_then_x, iriw, "abcd"},
    {"co-read-write", nothing, nothing, read_x_write_x, "cx"},
    {"co-read-fence-write", nothing, nothing, read_x_fence_write_x, "cx"},
    {"co-write-read", nothing, nothing, write_x_read_x, "cx"},
    {"co-write-read-2qp", nothing, nothing, write_x_read_x_two_queues, "cx"},
    {"co-write-write", nothing, read_x_twice, write_x_1_2, "abx"},
    {"co-write-write-2qp", nothing, read_x_twice, write_x_1_2_two_queues, "x"},
    {"co-read-twice", nothing, read_x_twice, write_x_1, "ab"},
    {"reuse", nothing, nothing, reuse, "x"},
    {"reuse-wait", nothing, nothing, wait_reuse, "x"},
    {"copy", init_x_5, nothing, copy, "y"},
    {"copy-fence", init_x_5, nothing, copy_fence, "y"},
    {"atomic-atomic-2qp", nothing, nothing, adds_two_queues, "cdx"},
    {"atomic-cpu", nothing, add_to_x, add_x, "x"},
    {"one-message", nothing, read_last_then_first, write_long, "ab"},
};

// ---- The rest.

static void set_up(int argc, char** argv) {
  char* words[] = {argv[0], "fixed", argc > 3 ? argv[3] : NULL, NULL};
  litmus_start(&my, argc > 3 ? 3 : 2, words, 0, kQueue, kBytes);
  MUST(ibv_dereg_mr(my.mr) == 0);
  const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  my.mr = ibv_reg_mr(my.pd, my.memory, kBytes, access);
  idle = ibv_create_cq(my.context, 1, NULL, NULL, 0);
  MUST(my.mr != NULL && idle != NULL);
}

static void connect_all(void) {
  for (int i = kQueuePairs - 1; i >= 0; --i) {
    litmus_qp(&my, i % 2, kQueue);  // has room for two
    qps[i] = my.qp[i % 2];
    struct ibv_qp_attr attr = {.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC};
    MUST(ibv_modify_qp(qps[i], &attr, IBV_QP_ACCESS_FLAGS) == 0);
  }
}

static void poll_a_while(int iteration, uint32_t multiplier) {
  drawn = ((uint32_t)iteration + 1) * multiplier;
  for (uint32_t i = (drawn >> 16) % 40; i > 0; --i) gap();
}

// The client raises a flag in the server's memory, through a queue pair of its own: sockets would let one end begin long before
// the other.
static void begin(int is_server) {
  litmus_meet(&my);
  if (!is_server) return write_to(kQueuePairs - 1, kGo, 1);
  while (*at(kGo) == 0) {
  }
}

struct outcome {
  char text[64];
  int count;
};

static void count_outcome(struct outcome* outcomes, size_t most, const char* registers, const uint64_t* values) {
  char text[64] = "";
  for (const char* r = registers; *r != 0; ++r) {
    const size_t index = *r == 'x' ? 4 : *r == 'y' ? 5 : (size_t)(*r - 'a');
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%c=%llu", r == registers ? "" : " ", *r,
             (unsigned long long)values[index]);
  }
  for (size_t i = 0; i < most; ++i) {
    if (outcomes[i].count == 0) strcpy(outcomes[i].text, text);
    if (strcmp(outcomes[i].text, text) != 0) continue;
    ++outcomes[i].count;
    return;
  }
  MUST(!"so many outcomes");
}

int main(int argc, char** argv) {
  MUST(argc >= 3);
  const struct memory_case* which = NULL;
  for (size_t i = 0; i < sizeof kCases / sizeof kCases[0]; ++i) {
    if (strcmp(argv[1], kCases[i].name) == 0) which = &kCases[i];
  }
  MUST(which != NULL);
  const int iterations = atoi(argv[2]);
  set_up(argc, argv);
  const int is_server = my.server == NULL;
  connect_all();
  struct outcome outcomes[32] = {0};
  for (int i = 0; i < iterations; ++i) {
    memset(my.memory, 0, kBytes);
    memset(seen, 0, sizeof seen);
    if (is_server) which->prepare();
    begin(is_server);
    poll_a_while(i, is_server ? 2654435761u : 2246822519u);
    is_server ? which->server() : which->client();
    if (!is_server) wait_all();
    litmus_meet(&my);
    uint64_t values[6] = {seen[0], seen[1], *at(kFetched), *at(kFetched + 8), *at(kX), *at(kY)};
    if (is_server) {
      tcp_write(my.tcp, values, sizeof values);
      continue;
    }
    uint64_t theirs[6];
    tcp_read(my.tcp, theirs, sizeof theirs);
    theirs[2] = values[2], theirs[3] = values[3];
    count_outcome(outcomes, sizeof outcomes / sizeof outcomes[0], which->registers, theirs);
  }
  litmus_meet(&my);
  for (size_t i = 0; i < sizeof outcomes / sizeof outcomes[0] && outcomes[i].count > 0; ++i) {
    printf("%s: %d\n", outcomes[i].text, outcomes[i].count);
  }
  return 0;
}
