// A pool of connections to a server of records. Each call has a slot, whose number is the wr_id of its
// receive; a free slot is reused at once. At times an answer requests that its connection be closed: the
// client destroys the queue pair, repeats its outstanding calls on another connection, and opens all again
// when none is left. It polls completions in batches; one after such an answer in its batch belongs to a
// destroyed queue pair. `buggy` takes it for the slot's current call. `fixed` has the slot's generation in
// the wr_id as well, and drops it. The server has one thread that opens and closes, and one that answers.
#include <pthread.h>
#include <time.h>

#include "tests/equality/rc_pair.h"

enum {
  kPort = 18630,
  kConnections = 3,
  kPerConnection = 5,  // limit of outstanding calls
  kSlots = 9,          // in all
  kCalls = 160,
  kRetireEach = 10,    // answers of a connection at the least, until it is given up
  kBatch = 8,          // completions that are taken at a time
  kCell = 128,
  kServed = 64,        // connections that a server can have in its life
};

struct question {
  uint32_t call, record;
};

struct answer {
  uint32_t call, record, is_last;
  char text[52];
};

struct control {
  enum { kOpen = 1, kClose = 2, kBye = 3 } what;
  uint32_t number;  // of the connection
  struct rc_address address;
};

struct endpoint {
  int tcp;
  struct ibv_context* context;
  struct ibv_pd* pd;
  struct ibv_cq* send_cq;
  struct ibv_cq* recv_cq;
  struct ibv_mr* mr;
  uint8_t* memory;
};

static struct endpoint me;
static const struct rc_options kOptions = {.mtu = IBV_MTU_1024, .rnr_timer = 1, .reads = 1};

static void open_endpoint(const char* server, size_t cells) {
  me.tcp = tcp_pair(server, kPort);
  me.context = open_first_device();
  me.pd = ibv_alloc_pd(me.context);
  MUST(me.pd != NULL);
  me.send_cq = ibv_create_cq(me.context, 512, NULL, NULL, 0);
  me.recv_cq = ibv_create_cq(me.context, 512, NULL, NULL, 0);
  MUST(me.send_cq != NULL && me.recv_cq != NULL);
  me.memory = chosen_memory(cells * kCell);
  me.mr = ibv_reg_mr(me.pd, me.memory, cells * kCell, IBV_ACCESS_LOCAL_WRITE);
  MUST(me.mr != NULL);
}

static void close_endpoint(void) {
  MUST(ibv_destroy_cq(me.send_cq) == 0 && ibv_destroy_cq(me.recv_cq) == 0);
  MUST(ibv_dereg_mr(me.mr) == 0 && ibv_dealloc_pd(me.pd) == 0 && ibv_close_device(me.context) == 0);
}

static struct ibv_qp* make_queue_pair(void) {
  struct ibv_qp_init_attr init = {.send_cq = me.send_cq, .recv_cq = me.recv_cq, .qp_type = IBV_QPT_RC};
  init.cap.max_send_wr = init.cap.max_recv_wr = 2 * kPerConnection;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  init.cap.max_inline_data = sizeof(struct answer);
  struct ibv_qp* const qp = ibv_create_qp(me.pd, &init);
  MUST(qp != NULL);
  return qp;
}

static struct rc_address address_of(const struct ibv_qp* qp) {
  return (struct rc_address){.lid = port_lid(me.context), .qpn = qp->qp_num, .psn = 300};
}

static void post_receive(struct ibv_qp* qp, uint64_t wr_id, uint32_t cell) {
  struct ibv_sge sge = {.addr = (uintptr_t)(me.memory + cell * kCell), .length = kCell, .lkey = me.mr->lkey};
  struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;
  MUST(ibv_post_recv(qp, &wr, &bad) == 0);
}

// The bytes are free at once.
static void post_send(struct ibv_qp* qp, const void* bytes, uint32_t length) {
  struct ibv_sge sge = {.addr = (uintptr_t)bytes, .length = length};
  struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
  wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
  MUST(ibv_post_send(qp, &wr, &bad) == 0);
}

static void text_of(uint32_t record, char* text, size_t room) {
  snprintf(text, room, "record %u has %u leaves", record, record * record);
}

// ---- The server. A connection has a cell for each of its receives.

struct served {
  struct ibv_qp* qp;  // NULL: closed
  uint32_t answers;
};

static void read_from_flash(void) {
  const struct timespec a_while = {.tv_nsec = 3000};
  MUST(nanosleep(&a_while, NULL) == 0);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct served served[kServed];
static volatile int is_over;

static void open_served(const struct control* control) {
  MUST(control->number < kServed);
  struct served* const connection = &served[control->number];
  connection->qp = make_queue_pair();
  const struct rc_address mine = address_of(connection->qp);
  rc_connect(connection->qp, &mine, &control->address, &kOptions);
  const uint32_t first = control->number * kPerConnection;
  for (uint32_t i = 0; i < kPerConnection; ++i) post_receive(connection->qp, first + i, first + i);
  tcp_write(me.tcp, &mine, sizeof mine);
}

static void close_served(uint32_t number) {
  MUST(number < kServed && served[number].qp != NULL);
  MUST(ibv_destroy_qp(served[number].qp) == 0);
  served[number].qp = NULL;
}

static void* control_connections(void* unused) {
  for (;;) {
    struct control control;
    tcp_read(me.tcp, &control, sizeof control);
    pthread_mutex_lock(&lock);
    if (control.what == kOpen) open_served(&control);
    if (control.what == kClose) close_served(control.number);
    is_over = control.what == kBye;
    pthread_mutex_unlock(&lock);
    if (control.what == kBye) return unused;
  }
}

// Connections that are opened together are not given up together.
static uint32_t answers_of(uint32_t number) { return kRetireEach + 3 * (number % kConnections); }

static void answer_question(uint32_t cell) {
  struct served* const connection = &served[cell / kPerConnection];
  if (connection->qp == NULL) return;
  struct question question;
  memcpy(&question, me.memory + cell * kCell, sizeof question);
  post_receive(connection->qp, cell, cell);
  struct answer answer = {.call = question.call, .record = question.record};
  read_from_flash();
  answer.is_last = ++connection->answers == answers_of(cell / kPerConnection);
  text_of(question.record, answer.text, sizeof answer.text);
  post_send(connection->qp, &answer, sizeof answer);
}

static void serve(void) {
  pthread_t controller;
  MUST(pthread_create(&controller, NULL, control_connections, NULL) == 0);
  while (!is_over) {
    struct ibv_wc wc;
    while (ibv_poll_cq(me.send_cq, 1, &wc) == 1) {
    }
    // On a connection that the client has destroyed only errors are expected.
    if (ibv_poll_cq(me.recv_cq, 1, &wc) != 1 || wc.status != IBV_WC_SUCCESS) continue;
    pthread_mutex_lock(&lock);
    answer_question((uint32_t)wc.wr_id);
    pthread_mutex_unlock(&lock);
  }
  MUST(pthread_join(controller, NULL) == 0);
  for (int i = 0; i < kServed; ++i) {
    if (served[i].qp != NULL) MUST(ibv_destroy_qp(served[i].qp) == 0);
  }
}

// ---- The client. A slot has a cell, for the answer.

struct connection {
  struct ibv_qp* qp;  // NULL: given up
  uint32_t number;
  int under_way;
};

struct call {
  uint32_t id, record;
  uint32_t generation;  // how often the slot has been assigned
  int connection;       // -1: the slot is free
};

static struct connection pool[kConnections];
static struct call calls[kSlots];
static uint32_t free_slots[kSlots], free_count;
static uint32_t repeated[kSlots], repeat_count;  // records to be requested again
static uint32_t connections_opened, ids_given, records_asked, records_answered;
static int is_fixed;

static void open_connection(struct connection* connection) {
  *connection = (struct connection){.qp = make_queue_pair(), .number = connections_opened++};
  const struct control control = {.what = kOpen, .number = connection->number, .address = address_of(connection->qp)};
  struct rc_address theirs;
  tcp_write(me.tcp, &control, sizeof control);
  tcp_read(me.tcp, &theirs, sizeof theirs);
  rc_connect(connection->qp, &control.address, &theirs, &kOptions);
}

// -1: none has room for a call.
static int least_busy(void) {
  int best = -1;
  for (int c = 0; c < kConnections; ++c) {
    if (pool[c].qp == NULL || pool[c].under_way == kPerConnection) continue;
    if (best < 0 || pool[c].under_way < pool[best].under_way) best = c;
  }
  return best;
}

static void ask(int c, uint32_t record) {
  const uint32_t slot = free_slots[--free_count];
  struct call* const call = &calls[slot];
  *call = (struct call){.id = ++ids_given, .record = record, .generation = call->generation + 1, .connection = c};
  post_receive(pool[c].qp, (uint64_t)call->generation << 32 | slot, slot);
  const struct question question = {.call = call->id, .record = record};
  post_send(pool[c].qp, &question, sizeof question);
  ++pool[c].under_way;
}

// As many calls as slots and connections allow, those that are repeated first.
static void ask_more(void) {
  int c;
  while (free_count > 0 && (c = least_busy()) >= 0) {
    if (repeat_count > 0) ask(c, repeated[--repeat_count]);
    else if (records_asked < kCalls) ask(c, records_asked++);
    else break;
  }
}

static void release(uint32_t slot) {
  --pool[calls[slot].connection].under_way;
  calls[slot].connection = -1;
  free_slots[free_count++] = slot;
}

static void give_up(int c) {
  struct connection* const connection = &pool[c];
  MUST(ibv_destroy_qp(connection->qp) == 0);
  const struct control control = {.what = kClose, .number = connection->number};
  tcp_write(me.tcp, &control, sizeof control);
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    if (calls[slot].connection != c) continue;
    repeated[repeat_count++] = calls[slot].record;
    release(slot);
  }
  connection->qp = NULL;
}

static void open_connections(void) {
  for (int c = 0; c < kConnections; ++c) {
    if (pool[c].qp != NULL) return;
  }
  for (int c = 0; c < kConnections; ++c) open_connection(&pool[c]);
  ask_more();
}

static void take_answer(uint64_t wr_id) {
  const uint32_t slot = (uint32_t)wr_id;
  struct call* const call = &calls[slot];
  if (is_fixed && wr_id >> 32 != call->generation) return;
  if (call->connection < 0) return;
  struct answer answer;
  char expected[sizeof answer.text];
  memcpy(&answer, me.memory + slot * kCell, sizeof answer);
  text_of(call->record, expected, sizeof expected);
  if (answer.record != call->record || strcmp(answer.text, expected) != 0) {
    printf("a call for record %u gets the answer to one for record %u\n", call->record, answer.record);
    exit(1);
  }
  const int c = call->connection;
  release(slot);
  ++records_answered;
  if (answer.is_last) give_up(c);
  ask_more();
}

static void run_calls(void) {
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    calls[slot].connection = -1;
    free_slots[free_count++] = slot;
  }
  while (records_answered < kCalls) {
    open_connections();
    struct ibv_wc batch[kBatch];
    const int sends = ibv_poll_cq(me.send_cq, kBatch, batch);
    for (int i = 0; i < sends; ++i) MUST(batch[i].status == IBV_WC_SUCCESS);
    const int answers = ibv_poll_cq(me.recv_cq, kBatch, batch);
    for (int i = 0; i < answers; ++i) {
      MUST(batch[i].status == IBV_WC_SUCCESS);
      take_answer(batch[i].wr_id);
    }
  }
  const struct control bye = {.what = kBye};
  tcp_write(me.tcp, &bye, sizeof bye);
  for (int c = 0; c < kConnections; ++c) {
    if (pool[c].qp != NULL) MUST(ibv_destroy_qp(pool[c].qp) == 0);
  }
}

int main(int argc, char** argv) {
  MUST(argc >= 2 && (strcmp(argv[1], "buggy") == 0 || strcmp(argv[1], "fixed") == 0));
  is_fixed = strcmp(argv[1], "fixed") == 0;
  const char* const server = argc > 2 ? argv[2] : NULL;
  open_endpoint(server, server == NULL ? kServed * kPerConnection : kSlots);
  server == NULL ? serve() : run_calls();
  close_endpoint();
  if (server != NULL) printf("%d calls over %u connections\n", kCalls, connections_opened);
  return 0;
}
