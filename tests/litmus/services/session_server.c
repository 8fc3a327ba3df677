// A server of sessions over librdmacm: one thread that sleeps in poll on the event channel and on the completion channel.
// A session is created when its connection is established, and each message is handled in its session. `buggy` assumes
// that RDMA_CM_EVENT_ESTABLISHED precedes the first message of its connection: a message may overtake it, and then there
// is no session. `fixed` treats the first message as a sign of an established connection as well. The client opens
// connections one after another, sends lines of text, and gets each back in capitals with the session's count of letters.
#include <ctype.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <time.h>

#include "tests/equality/rc_pair.h"

enum {
  kPort = 18650,
  kConnections = 5,
  kLines = 6,
  kReceives = 4,
  kSends = kLines,  // all of a connection's: their completions may be late
  kCell = 128,
  kMemory = (kReceives + kSends) * kCell,
};

struct session {
  uint32_t lines, letters;
};

// For server and client.
struct connection {
  struct rdma_cm_id* id;
  struct ibv_pd* pd;
  struct ibv_comp_channel* channel;
  struct ibv_cq* cq;
  struct ibv_mr* mr;
  uint8_t* memory;          // kReceives cells of receives, then kSends
  uint32_t next_send;
  uint32_t sends_under_way;
  struct session* session;  // of the server
};

struct reply {
  uint32_t letters;
  char text[kCell - 4];
};

static struct rdma_event_channel* events;
static int is_fixed;

static void post_receive(struct connection* connection, uint64_t cell) {
  struct ibv_sge sge = {.addr = (uintptr_t)(connection->memory + cell * kCell), .length = kCell, .lkey = connection->mr->lkey};
  struct ibv_recv_wr wr = {.wr_id = cell, .sg_list = &sge, .num_sge = 1}, *bad;
  MUST(ibv_post_recv(connection->id->qp, &wr, &bad) == 0);
}

static void post_send(struct connection* connection, const void* bytes, uint32_t length) {
  uint8_t* const place = connection->memory + (kReceives + connection->next_send++ % kSends) * kCell;
  memcpy(place, bytes, length);
  struct ibv_sge sge = {.addr = (uintptr_t)place, .length = length, .lkey = connection->mr->lkey};
  struct ibv_send_wr wr = {.wr_id = kReceives, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
  wr.send_flags = IBV_SEND_SIGNALED;
  ++connection->sends_under_way;
  MUST(ibv_post_send(connection->id->qp, &wr, &bad) == 0);
}

// `number` is that of the connection: each has memory of its own.
static void make_resources(struct connection* connection, struct rdma_cm_id* id, uint8_t* memory) {
  *connection = (struct connection){.id = id, .memory = memory};
  connection->pd = ibv_alloc_pd(id->verbs);
  connection->channel = ibv_create_comp_channel(id->verbs);
  MUST(connection->pd != NULL && connection->channel != NULL);
  connection->cq = ibv_create_cq(id->verbs, 4 * kReceives, NULL, connection->channel, 0);
  connection->mr = ibv_reg_mr(connection->pd, memory, kMemory, IBV_ACCESS_LOCAL_WRITE);
  MUST(connection->cq != NULL && connection->mr != NULL);
  struct ibv_qp_init_attr init = {.send_cq = connection->cq, .recv_cq = connection->cq, .qp_type = IBV_QPT_RC};
  init.cap.max_send_wr = kSends;
  init.cap.max_recv_wr = kReceives;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  MUST(rdma_create_qp(id, connection->pd, &init) == 0);
  for (uint64_t cell = 0; cell < kReceives; ++cell) post_receive(connection, cell);
}

static void free_resources(struct connection* connection) {
  rdma_destroy_qp(connection->id);
  MUST(ibv_destroy_cq(connection->cq) == 0 && ibv_destroy_comp_channel(connection->channel) == 0);
  MUST(ibv_dereg_mr(connection->mr) == 0 && ibv_dealloc_pd(connection->pd) == 0);
  MUST(rdma_destroy_id(connection->id) == 0);
  free(connection->session);
}

static struct rdma_conn_param parameters(void) {
  return (struct rdma_conn_param){.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7};
}

// ---- The server.

static struct connection connection;  // there is one at a time
static int has_connection, connections_served;

static void accept_connection(struct rdma_cm_id* id, uint8_t* memory) {
  make_resources(&connection, id, memory);
  has_connection = 1;
  MUST(fcntl(connection.channel->fd, F_SETFL, fcntl(connection.channel->fd, F_GETFL) | O_NONBLOCK) == 0);
  MUST(ibv_req_notify_cq(connection.cq, 0) == 0);
  struct rdma_conn_param accepted = parameters();
  MUST(rdma_accept(id, &accepted) == 0);
}

static void establish(void) {
  if (connection.session != NULL) return;
  connection.session = calloc(1, sizeof *connection.session);
  MUST(connection.session != NULL);
}

static void handle_line(const char* line, uint32_t length) {
  struct session* const session = connection.session;
  struct reply reply;
  uint32_t letters = 0;
  for (uint32_t i = 0; i < length; ++i) {
    reply.text[i] = (char)toupper((unsigned char)line[i]);
    letters += isalpha((unsigned char)line[i]) ? 1 : 0;
  }
  session->letters += letters;
  ++session->lines;
  reply.letters = session->letters;
  post_send(&connection, &reply, (uint32_t)sizeof reply.letters + length);
}

static void take_completions(void) {
  struct ibv_wc wc;
  while (ibv_poll_cq(connection.cq, 1, &wc) == 1) {
    if (wc.status == IBV_WC_WR_FLUSH_ERR) continue;  // it is being disconnected
    MUST(wc.status == IBV_WC_SUCCESS);
    if (wc.wr_id >= kReceives) {
      --connection.sends_under_way;
      continue;
    }
    if (is_fixed) establish();
    handle_line((const char*)connection.memory + wc.wr_id * kCell, wc.byte_len);
    post_receive(&connection, wc.wr_id);
  }
}

static void handle_completions(void) {
  struct ibv_cq* cq;
  void* context;
  while (ibv_get_cq_event(connection.channel, &cq, &context) == 0) {
    ibv_ack_cq_events(cq, 1);
    MUST(ibv_req_notify_cq(cq, 0) == 0);
    take_completions();  // otherwise adapters that raise an event for present entries would raise one at each arm
  }
}

static void handle_event(uint8_t* memory) {
  struct rdma_cm_event* event;
  MUST(rdma_get_cm_event(events, &event) == 0);
  const enum rdma_cm_event_type type = event->event;
  struct rdma_cm_id* const id = event->id;
  MUST(rdma_ack_cm_event(event) == 0);
  switch (type) {
    case RDMA_CM_EVENT_CONNECT_REQUEST: accept_connection(id, memory); break;
    case RDMA_CM_EVENT_ESTABLISHED: establish(); break;
    case RDMA_CM_EVENT_DISCONNECTED:
      take_completions();
      rdma_disconnect(id);
      MUST(connection.session->lines == kLines);
      free_resources(&connection);
      has_connection = 0;
      ++connections_served;
      break;
    case RDMA_CM_EVENT_TIMEWAIT_EXIT: break;
    default: printf("%s is not expected\n", rdma_event_str(type)); exit(1);
  }
}

static void serve(uint8_t* memory) {
  struct rdma_cm_id* listener;
  const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(kPort)};
  MUST(rdma_create_id(events, &listener, NULL, RDMA_PS_TCP) == 0);
  MUST(rdma_bind_addr(listener, (struct sockaddr*)&any) == 0 && rdma_listen(listener, 4) == 0);
  while (connections_served < kConnections) {
    struct pollfd ready[2] = {{.fd = events->fd, .events = POLLIN}};
    if (has_connection) ready[1] = (struct pollfd){.fd = connection.channel->fd, .events = POLLIN};
    MUST(poll(ready, has_connection ? 2 : 1, -1) >= 1);
    if (ready[1].revents != 0) handle_completions();
    if (ready[0].revents != 0) handle_event(memory);
  }
  MUST(rdma_destroy_id(listener) == 0);
}

// ---- The client.

static const char* const kTexts[kLines] = {"the first line", "a second one", "and, 3rd, a longer line of text",
                                           "x", "numbers: 1 2 3", "good bye"};

static void expect_event(enum rdma_cm_event_type type) {
  struct rdma_cm_event* event;
  MUST(rdma_get_cm_event(events, &event) == 0);
  if (event->event != type) {
    printf("%s (status %d) instead of %s\n", rdma_event_str(event->event), event->status, rdma_event_str(type));
    exit(1);
  }
  MUST(rdma_ack_cm_event(event) == 0);
}

static void connect_to(const char* server, struct connection* to, uint8_t* memory) {
  const struct addrinfo hints = {.ai_family = AF_INET};
  struct addrinfo* found = NULL;
  MUST(getaddrinfo(server, NULL, &hints, &found) == 0);
  struct sockaddr_in address = *(struct sockaddr_in*)found->ai_addr;
  address.sin_port = htons(kPort);
  freeaddrinfo(found);
  struct rdma_cm_id* id;
  MUST(rdma_create_id(events, &id, NULL, RDMA_PS_TCP) == 0);
  MUST(rdma_resolve_addr(id, NULL, (struct sockaddr*)&address, 1000) == 0);
  expect_event(RDMA_CM_EVENT_ADDR_RESOLVED);
  MUST(rdma_resolve_route(id, 1000) == 0);
  expect_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
  make_resources(to, id, memory);
  struct rdma_conn_param wanted = parameters();
  MUST(rdma_connect(id, &wanted) == 0);
  expect_event(RDMA_CM_EVENT_ESTABLISHED);
}

static void read_configuration(void) {
  const struct timespec a_while = {.tv_nsec = 30000};
  MUST(nanosleep(&a_while, NULL) == 0);
}

static void send_lines(struct connection* to) {
  uint32_t letters = 0;
  for (int line = 0; line < kLines; ++line) {
    const char* const text = kTexts[line];
    post_send(to, text, (uint32_t)strlen(text));
    for (int is_answered = 0; !is_answered || to->sends_under_way > 0;) {
      struct ibv_wc wc;
      const int n = ibv_poll_cq(to->cq, 1, &wc);
      if (n == 0) continue;
      MUST(n == 1 && wc.status == IBV_WC_SUCCESS);
      if (wc.wr_id >= kReceives) {
        --to->sends_under_way;
        continue;
      }
      struct reply reply;
      memcpy(&reply, to->memory + wc.wr_id * kCell, wc.byte_len);
      post_receive(to, wc.wr_id);
      for (const char* c = text; *c != 0; ++c) letters += isalpha((unsigned char)*c) ? 1 : 0;
      MUST(reply.letters == letters && wc.byte_len == sizeof reply.letters + strlen(text));
      is_answered = 1;
    }
  }
}

static void use_server(const char* server, uint8_t* memory) {
  for (int i = 0; i < kConnections; ++i) {
    struct connection to;
    connect_to(server, &to, memory);
    read_configuration();
    send_lines(&to);
    MUST(rdma_disconnect(to.id) == 0);
    expect_event(RDMA_CM_EVENT_DISCONNECTED);
    free_resources(&to);
  }
}

int main(int argc, char** argv) {
  MUST(argc >= 2 && (strcmp(argv[1], "buggy") == 0 || strcmp(argv[1], "fixed") == 0));
  is_fixed = strcmp(argv[1], "fixed") == 0;
  uint8_t* const memory = chosen_memory(kMemory);
  events = rdma_create_event_channel();
  MUST(events != NULL);
  argc > 2 ? use_server(argv[2], memory) : serve(memory);
  rdma_destroy_event_channel(events);
  printf("%d sessions\n", kConnections);
  return 0;
}
