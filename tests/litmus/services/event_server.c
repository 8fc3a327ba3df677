// A server of a table of counters, on two completion queues with one channel: one for requests, the other for
// the sends of replies. A connection has two slots for replies; further replies wait in a list until a send has
// completed. The server sleeps in epoll_wait. `buggy` polls the requests once more after arming both queues,
// but not the sends: if the last sends complete between its poll and its arm, the replies in the list are never
// sent. `fixed` polls both. The client sends requests in batches over three connections, and checks each reply.
#include <fcntl.h>
#include <sys/epoll.h>

#include "tests/equality/rc_pair.h"

enum {
  kPort = 18610,
  kConnections = 3,
  kBatch = 4,       // requests of a connection at a time
  kBatches = 12,
  kReplySlots = 2,  // of a connection's send queue
  kCounters = 16,
  kCell = 64,       // bytes of a message's place
};

enum operation { kAdd = 1, kGet = 2, kReset = 3 };

struct request {
  uint32_t operation, sequence, counter;
  int32_t amount;
};

struct reply {
  uint32_t status, sequence;
  int64_t value;
};

struct connection {
  struct ibv_qp* qp;
  uint8_t* receives;  // kBatch cells
  uint8_t* sends;     // kBatch cells of the client, kReplySlots of the server
  struct reply waiting[kBatch];
  int first_waiting, waiting_count;
  int slots_in_use;
  uint32_t next_slot, next_sequence;
};

struct endpoint {
  int tcp;
  struct ibv_context* context;
  struct ibv_pd* pd;
  struct ibv_mr* mr;
  struct ibv_comp_channel* channel;
  struct ibv_cq* recv_cq;
  struct ibv_cq* send_cq;
  struct connection connections[kConnections];
};

static struct endpoint me;

static void post_receive(int c, uint32_t cell) {
  struct connection* const connection = &me.connections[c];
  struct ibv_sge sge = {.addr = (uintptr_t)(connection->receives + cell * kCell), .length = kCell, .lkey = me.mr->lkey};
  struct ibv_recv_wr wr = {.wr_id = (uint64_t)c << 32 | cell, .sg_list = &sge, .num_sge = 1}, *bad;
  MUST(ibv_post_recv(connection->qp, &wr, &bad) == 0);
}

static void post_send(int c, uint32_t cell, uint32_t length) {
  struct connection* const connection = &me.connections[c];
  struct ibv_sge sge = {.addr = (uintptr_t)(connection->sends + cell * kCell), .length = length, .lkey = me.mr->lkey};
  struct ibv_send_wr wr = {.wr_id = (uint64_t)c << 32 | cell, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
  wr.send_flags = IBV_SEND_SIGNALED;
  MUST(ibv_post_send(connection->qp, &wr, &bad) == 0);
}

static void open_endpoint(const char* server) {
  me.tcp = tcp_pair(server, kPort);
  me.context = open_first_device();
  me.pd = ibv_alloc_pd(me.context);
  me.channel = ibv_create_comp_channel(me.context);
  MUST(me.pd != NULL && me.channel != NULL);
  me.recv_cq = ibv_create_cq(me.context, 2 * kConnections * kBatch, NULL, me.channel, 0);
  me.send_cq = ibv_create_cq(me.context, 2 * kConnections * kBatch, NULL, me.channel, 0);
  MUST(me.recv_cq != NULL && me.send_cq != NULL);
  const size_t bytes = 2 * kConnections * kBatch * kCell;
  uint8_t* const memory = chosen_memory(bytes);
  me.mr = ibv_reg_mr(me.pd, memory, bytes, IBV_ACCESS_LOCAL_WRITE);
  MUST(me.mr != NULL);
  for (int c = 0; c < kConnections; ++c) {
    me.connections[c].receives = memory + 2 * c * kBatch * kCell;
    me.connections[c].sends = me.connections[c].receives + kBatch * kCell;
  }
}

static void open_connection(int c, uint32_t send_slots) {
  struct connection* const connection = &me.connections[c];
  struct ibv_qp_init_attr init = {.send_cq = me.send_cq, .recv_cq = me.recv_cq, .qp_type = IBV_QPT_RC};
  init.cap.max_send_wr = send_slots;
  init.cap.max_recv_wr = kBatch;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  connection->qp = ibv_create_qp(me.pd, &init);
  MUST(connection->qp != NULL);
  const struct rc_address mine = {.lid = port_lid(me.context), .qpn = connection->qp->qp_num, .psn = 100 + (uint32_t)c};
  struct rc_address theirs;
  rc_exchange(me.tcp, &mine, &theirs);
  const struct rc_options options = {.mtu = IBV_MTU_1024, .rnr_timer = 12, .reads = 1};
  rc_connect(connection->qp, &mine, &theirs, &options);
  for (uint32_t cell = 0; cell < kBatch; ++cell) post_receive(c, cell);
}

static void meet(void) {
  char byte = 0;
  tcp_write(me.tcp, &byte, 1);
  tcp_read(me.tcp, &byte, 1);
}

// ---- The server.

static int64_t counters[kCounters];
static int replies_sent;

static struct reply answer(const struct request* request) {
  struct reply reply = {.sequence = request->sequence};
  if (request->counter >= kCounters) {
    reply.status = EINVAL;
    return reply;
  }
  int64_t* const counter = &counters[request->counter];
  switch (request->operation) {
    case kAdd: *counter += request->amount; break;
    case kReset: *counter = 0; break;
    case kGet: break;
    default: reply.status = ENOSYS;
  }
  reply.value = *counter;
  return reply;
}

// As many of the replies that wait as there are slots for.
static void send_waiting(int c) {
  struct connection* const connection = &me.connections[c];
  while (connection->waiting_count > 0 && connection->slots_in_use < kReplySlots) {
    const uint32_t slot = connection->next_slot++ % kReplySlots;
    memcpy(connection->sends + slot * kCell, &connection->waiting[connection->first_waiting], sizeof(struct reply));
    connection->first_waiting = (connection->first_waiting + 1) % kBatch;
    --connection->waiting_count;
    ++connection->slots_in_use;
    post_send(c, slot, sizeof(struct reply));
    ++replies_sent;
  }
}

static int take_requests(void) {
  int taken = 0;
  struct ibv_wc wc;
  while (ibv_poll_cq(me.recv_cq, 1, &wc) == 1) {
    MUST(wc.status == IBV_WC_SUCCESS && wc.byte_len == sizeof(struct request));
    const int c = (int)(wc.wr_id >> 32);
    const uint32_t cell = (uint32_t)wc.wr_id;
    struct connection* const connection = &me.connections[c];
    struct request request;
    memcpy(&request, connection->receives + cell * kCell, sizeof request);
    post_receive(c, cell);
    MUST(connection->waiting_count < kBatch);
    connection->waiting[(connection->first_waiting + connection->waiting_count++) % kBatch] = answer(&request);
    send_waiting(c);
    ++taken;
  }
  return taken;
}

static int take_sends(void) {
  int taken = 0;
  struct ibv_wc wc;
  while (ibv_poll_cq(me.send_cq, 1, &wc) == 1) {
    MUST(wc.status == IBV_WC_SUCCESS);
    const int c = (int)(wc.wr_id >> 32);
    --me.connections[c].slots_in_use;
    send_waiting(c);
    ++taken;
  }
  return taken;
}

static void ask_for_events(void) {
  MUST(ibv_req_notify_cq(me.recv_cq, 0) == 0);
  MUST(ibv_req_notify_cq(me.send_cq, 0) == 0);
}

static void take_events(void) {
  struct ibv_cq* cq;
  void* context;
  while (ibv_get_cq_event(me.channel, &cq, &context) == 0) ibv_ack_cq_events(cq, 1);
  MUST(errno == EAGAIN);
}

static void serve(int is_fixed) {
  MUST(fcntl(me.channel->fd, F_SETFL, fcntl(me.channel->fd, F_GETFL) | O_NONBLOCK) == 0);
  const int epoll = epoll_create1(0);
  struct epoll_event interest = {.events = EPOLLIN};
  MUST(epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, me.channel->fd, &interest) == 0);
  ask_for_events();
  meet();
  const int all = kConnections * kBatch * kBatches;
  for (;;) {
    while (take_requests() + take_sends() > 0) {
    }
    ask_for_events();
    take_requests();
    if (is_fixed) take_sends();
    if (replies_sent == all) break;
    struct epoll_event ready;
    MUST(epoll_wait(epoll, &ready, 1, -1) == 1);
    take_events();
  }
  close(epoll);
}

// ---- The client.

static int64_t expected[kCounters];

// Connection `c` has counters of its own, so that replies do not depend on which connection is served first.
static struct request next_request(int c, uint32_t sequence) {
  const uint32_t mine = kCounters / kConnections;
  struct request request = {.sequence = sequence, .counter = (uint32_t)c * mine + sequence % mine};
  request.operation = sequence % 7 == 0 ? kReset : sequence % 3 == 0 ? kGet : kAdd;
  request.amount = (int32_t)(sequence * 3 + (uint32_t)c);
  return request;
}

static void send_batch(int c) {
  struct connection* const connection = &me.connections[c];
  for (uint32_t i = 0; i < kBatch; ++i) {
    const struct request request = next_request(c, connection->next_sequence + i);
    memcpy(connection->sends + i * kCell, &request, sizeof request);
    post_send(c, i, sizeof request);
  }
}

static void check_reply(int c, const struct reply* reply) {
  struct connection* const connection = &me.connections[c];
  const struct request request = next_request(c, connection->next_sequence);
  int64_t* const counter = &expected[request.counter];
  if (request.operation == kAdd) *counter += request.amount;
  if (request.operation == kReset) *counter = 0;
  MUST(reply->status == 0 && reply->sequence == connection->next_sequence && reply->value == *counter);
  ++connection->next_sequence;
}

static void wait_for_batches(void) {
  struct ibv_wc wc;
  for (int sends = 0; sends < kConnections * kBatch;) {
    const int n = ibv_poll_cq(me.send_cq, 1, &wc);
    MUST(n == 0 || (n == 1 && wc.status == IBV_WC_SUCCESS));
    sends += n;
  }
  for (int replies = 0; replies < kConnections * kBatch;) {
    const int n = ibv_poll_cq(me.recv_cq, 1, &wc);
    if (n == 0) continue;
    MUST(n == 1 && wc.status == IBV_WC_SUCCESS && wc.byte_len == sizeof(struct reply));
    const int c = (int)(wc.wr_id >> 32);
    struct reply reply;
    memcpy(&reply, me.connections[c].receives + (uint32_t)wc.wr_id * kCell, sizeof reply);
    post_receive(c, (uint32_t)wc.wr_id);
    check_reply(c, &reply);
    ++replies;
  }
}

static void ask(void) {
  meet();
  for (int batch = 0; batch < kBatches; ++batch) {
    for (int c = 0; c < kConnections; ++c) send_batch(c);
    wait_for_batches();
  }
}

static void close_endpoint(void) {
  for (int c = 0; c < kConnections; ++c) MUST(ibv_destroy_qp(me.connections[c].qp) == 0);
  MUST(ibv_destroy_cq(me.recv_cq) == 0 && ibv_destroy_cq(me.send_cq) == 0);
  MUST(ibv_destroy_comp_channel(me.channel) == 0);
  MUST(ibv_dereg_mr(me.mr) == 0 && ibv_dealloc_pd(me.pd) == 0 && ibv_close_device(me.context) == 0);
}

int main(int argc, char** argv) {
  MUST(argc >= 2 && (strcmp(argv[1], "buggy") == 0 || strcmp(argv[1], "fixed") == 0));
  const char* const server = argc > 2 ? argv[2] : NULL;
  open_endpoint(server);
  for (int c = 0; c < kConnections; ++c) open_connection(c, server == NULL ? kReplySlots : kBatch);
  server == NULL ? serve(strcmp(argv[1], "fixed") == 0) : ask();
  meet();  // the end that exits first destroys its queue pairs
  close_endpoint();
  printf("%d requests\n", kConnections * kBatch * kBatches);
  return 0;
}
