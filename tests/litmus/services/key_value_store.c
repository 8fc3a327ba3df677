// A key-value store. Requests and replies are messages; the client has twelve outstanding requests. The
// server has eight buffers for replies, uses them in turn, and signals every fourth reply, to free its send
// queue. `buggy` reuses a buffer after eight more requests: normally the reply has been sent long before, but
// when a packet is lost, it is retransmitted from the buffer, which contains another value. `fixed` waits for
// the completion of the reply. The client checks each value by its checksum, and its key.
#include "tests/equality/rc_pair.h"

enum {
  kPort = 18620,
  kKeys = 24,
  kRequests = 120,
  kWindow = 12,        // outstanding requests
  kReplyBuffers = 8,
  kSignalEach = 4,     // replies
  kSendSlots = 32,
  kValueMost = 1400,
  kCell = 2048,        // bytes of a message's place
  kReceiveCells = kWindow + 4,
};

enum operation { kPut = 1, kGet = 2, kDelete = 3 };
enum status { kOk = 0, kNotThere = 1 };

// For requests and replies; `length` bytes of value follow.
struct header {
  uint32_t operation, status, sequence, key, length, checksum;
};

struct value {
  uint32_t length;
  uint8_t bytes[kValueMost];
};

struct endpoint {
  int tcp;
  struct ibv_context* context;
  struct ibv_pd* pd;
  struct ibv_cq* send_cq;
  struct ibv_cq* recv_cq;
  struct ibv_qp* qp;
  struct ibv_mr* mr;
  uint8_t* receives;  // kReceiveCells cells
  uint8_t* sends;     // kReceiveCells cells
};

static struct endpoint me;
static int is_fixed;

static uint32_t checksum(const uint8_t* bytes, uint32_t length) {
  uint32_t sum = 2166136261u;
  for (uint32_t i = 0; i < length; ++i) sum = (sum ^ bytes[i]) * 16777619u;
  return sum;
}

static void post_receive(uint64_t cell) {
  struct ibv_sge sge = {.addr = (uintptr_t)(me.receives + cell * kCell), .length = kCell, .lkey = me.mr->lkey};
  struct ibv_recv_wr wr = {.wr_id = cell, .sg_list = &sge, .num_sge = 1}, *bad;
  MUST(ibv_post_recv(me.qp, &wr, &bad) == 0);
}

static void post_send(uint64_t wr_id, uint32_t cell, uint32_t length, int is_signaled) {
  struct ibv_sge sge = {.addr = (uintptr_t)(me.sends + cell * kCell), .length = length, .lkey = me.mr->lkey};
  struct ibv_send_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
  wr.send_flags = is_signaled ? IBV_SEND_SIGNALED : 0;
  MUST(ibv_post_send(me.qp, &wr, &bad) == 0);
}

static void open_endpoint(const char* server) {
  me.tcp = tcp_pair(server, kPort);
  me.context = open_first_device();
  me.pd = ibv_alloc_pd(me.context);
  MUST(me.pd != NULL);
  me.send_cq = ibv_create_cq(me.context, kSendSlots, NULL, NULL, 0);
  me.recv_cq = ibv_create_cq(me.context, kReceiveCells, NULL, NULL, 0);
  MUST(me.send_cq != NULL && me.recv_cq != NULL);
  const size_t bytes = 2 * kReceiveCells * kCell;
  me.receives = chosen_memory(bytes);
  me.sends = me.receives + kReceiveCells * kCell;
  me.mr = ibv_reg_mr(me.pd, me.receives, bytes, IBV_ACCESS_LOCAL_WRITE);
  MUST(me.mr != NULL);
  struct ibv_qp_init_attr init = {.send_cq = me.send_cq, .recv_cq = me.recv_cq, .qp_type = IBV_QPT_RC};
  init.cap.max_send_wr = kSendSlots;
  init.cap.max_recv_wr = kReceiveCells;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  me.qp = ibv_create_qp(me.pd, &init);
  MUST(me.qp != NULL);
  const struct rc_address mine = {.lid = port_lid(me.context), .qpn = me.qp->qp_num, .psn = 700};
  struct rc_address theirs;
  rc_exchange(me.tcp, &mine, &theirs);
  const struct rc_options options = {.mtu = IBV_MTU_1024, .rnr_timer = 12, .reads = 1};
  rc_connect(me.qp, &mine, &theirs, &options);
  for (uint64_t cell = 0; cell < kReceiveCells; ++cell) post_receive(cell);
}

static void meet(void) {
  char byte = 0;
  tcp_write(me.tcp, &byte, 1);
  tcp_read(me.tcp, &byte, 1);
}

// ---- The server.

static struct value store[kKeys];
static int is_there[kKeys];
static uint64_t replies_posted, replies_completed;

static void take_completions(void) {
  struct ibv_wc wc;
  while (ibv_poll_cq(me.send_cq, 1, &wc) == 1) {
    MUST(wc.status == IBV_WC_SUCCESS);
    replies_completed = wc.wr_id + 1;  // and all before it
  }
}

// The buffer of the next reply.
static uint32_t take_reply_buffer(void) {
  const uint64_t room = is_fixed ? kReplyBuffers : kSendSlots;
  do take_completions();
  while (replies_posted - replies_completed >= room);
  return (uint32_t)(replies_posted % kReplyBuffers);
}

static void execute(const struct header* request, const uint8_t* value, struct header* reply, uint8_t* found) {
  *reply = (struct header){.operation = request->operation, .sequence = request->sequence, .key = request->key};
  MUST(request->key < kKeys);
  struct value* const place = &store[request->key];
  switch (request->operation) {
    case kPut:
      MUST(request->length <= kValueMost && checksum(value, request->length) == request->checksum);
      place->length = request->length;
      memcpy(place->bytes, value, request->length);
      is_there[request->key] = 1;
      break;
    case kGet:
      if (!is_there[request->key]) {
        reply->status = kNotThere;
        break;
      }
      reply->length = place->length;
      reply->checksum = checksum(place->bytes, place->length);
      memcpy(found, place->bytes, place->length);
      break;
    case kDelete:
      reply->status = is_there[request->key] ? kOk : kNotThere;
      is_there[request->key] = 0;
      break;
    default: MUST(!"a known operation");
  }
}

static void serve(void) {
  meet();
  for (int served = 0; served < kRequests;) {
    struct ibv_wc wc;
    const int n = ibv_poll_cq(me.recv_cq, 1, &wc);
    if (n == 0) continue;
    MUST(n == 1 && wc.status == IBV_WC_SUCCESS);
    const uint8_t* const message = me.receives + wc.wr_id * kCell;
    struct header request, reply;
    memcpy(&request, message, sizeof request);
    const uint32_t buffer = take_reply_buffer();
    uint8_t* const out = me.sends + buffer * kCell;
    execute(&request, message + sizeof request, &reply, out + sizeof reply);
    memcpy(out, &reply, sizeof reply);
    post_receive(wc.wr_id);
    const int is_signaled = replies_posted % kSignalEach == kSignalEach - 1;
    post_send(replies_posted, buffer, (uint32_t)sizeof reply + reply.length, is_signaled);
    ++replies_posted;
    ++served;
  }
  while (replies_completed < replies_posted) take_completions();
}

// ---- The client.

static uint32_t versions[kKeys];  // that a GET is to find; 0: the key is not there
struct sent {
  uint32_t operation, key, version;
};
static struct sent under_way[kWindow];

static uint32_t length_of(uint32_t key, uint32_t version) { return 600 + (key * 37 + version * 113) % (kValueMost - 600); }

static uint8_t byte_of(uint32_t key, uint32_t version, uint32_t at) { return (uint8_t)(key * 31 + version * 7 + at); }

// All keys are put first; then one put or delete for five gets.
static void send_request(uint32_t sequence) {
  struct header header = {.sequence = sequence, .key = sequence * 5 % kKeys};
  header.operation = sequence < kKeys || sequence % 6 == 0 ? kPut : sequence % 23 == 0 ? kDelete : kGet;
  uint8_t* const out = me.sends + sequence % kWindow * kCell;
  if (header.operation == kPut) {
    const uint32_t version = ++versions[header.key];
    header.length = length_of(header.key, version);
    for (uint32_t i = 0; i < header.length; ++i) out[sizeof header + i] = byte_of(header.key, version, i);
    header.checksum = checksum(out + sizeof header, header.length);
  }
  if (header.operation == kDelete) versions[header.key] = 0;
  memcpy(out, &header, sizeof header);
  under_way[sequence % kWindow] = (struct sent){header.operation, header.key, versions[header.key]};
  post_send(sequence, sequence % kWindow, (uint32_t)sizeof header + header.length, 1);
}

static void check_reply(uint32_t sequence, const uint8_t* message, uint32_t length) {
  const struct sent* const sent = &under_way[sequence % kWindow];
  struct header reply;
  memcpy(&reply, message, sizeof reply);
  if (reply.sequence != sequence || reply.key != sent->key) {
    printf("request %u for key %u is answered with the reply to request %u for key %u\n", sequence, sent->key, reply.sequence,
           reply.key);
    exit(1);
  }
  if (sent->operation != kGet) return;
  MUST(reply.status == (sent->version == 0 ? kNotThere : kOk));
  if (sent->version == 0) return;
  MUST(length == sizeof reply + reply.length);
  if (checksum(message + sizeof reply, reply.length) != reply.checksum) {
    printf("the value of key %u has a wrong checksum\n", sent->key);
    exit(1);
  }
  for (uint32_t i = 0; i < reply.length; ++i) MUST(message[sizeof reply + i] == byte_of(sent->key, sent->version, i));
}

static void ask(void) {
  meet();
  uint32_t sent = 0, completed = 0, answered = 0;
  while (answered < kRequests) {
    for (; sent < kRequests && sent < answered + kWindow && sent < completed + kWindow; ++sent) send_request(sent);
    struct ibv_wc wc;
    int n = ibv_poll_cq(me.send_cq, 1, &wc);
    MUST(n == 0 || (n == 1 && wc.status == IBV_WC_SUCCESS));
    completed += (uint32_t)n;
    n = ibv_poll_cq(me.recv_cq, 1, &wc);
    if (n == 0) continue;
    MUST(n == 1 && wc.status == IBV_WC_SUCCESS);
    check_reply(answered, me.receives + wc.wr_id * kCell, wc.byte_len);
    post_receive(wc.wr_id);
    ++answered;
  }
}

int main(int argc, char** argv) {
  MUST(argc >= 2 && (strcmp(argv[1], "buggy") == 0 || strcmp(argv[1], "fixed") == 0));
  is_fixed = strcmp(argv[1], "fixed") == 0;
  const char* const server = argc > 2 ? argv[2] : NULL;
  open_endpoint(server);
  server == NULL ? serve() : ask();
  meet();  // the end that exits first destroys its queue pair
  MUST(ibv_destroy_qp(me.qp) == 0);
  MUST(ibv_destroy_cq(me.send_cq) == 0 && ibv_destroy_cq(me.recv_cq) == 0);
  MUST(ibv_dereg_mr(me.mr) == 0 && ibv_dealloc_pd(me.pd) == 0 && ibv_close_device(me.context) == 0);
  printf("%d requests\n", kRequests);
  return 0;
}
