#include <stddef.h>

#include "lab.h"

enum {
  kKeys = 10,
  kRounds = 60,
  kEager = 1024,         // longest value that is sent within a message, bytes
  kValueMost = 32 << 10,
};

enum operation { kPut = 1, kGet = 2, kEnd = 3 };

// Requests and replies. For a value longer than kEager the message has its length, address and rkey only.
struct message {
  uint32_t operation, key, length, rkey;
  uint64_t address;
  unsigned char value[kEager];
};

struct value {
  uint32_t length;
  unsigned char bytes[kValueMost];
};

static struct ibv_qp* qp;
static struct ibv_cq *send_cq, *recv_cq;
static struct message in, out;  // one message in each direction at a time
static struct ibv_mr *in_mr, *out_mr, *value_mr;
static int sends;  // whose completions have not been polled

static void wait_for_one(struct ibv_cq* cq) {
  struct ibv_wc wc;
  int n;
  while ((n = ibv_poll_cq(cq, 1, &wc)) == 0) continue;
  MUST(n == 1);
  if (wc.status == IBV_WC_SUCCESS) return;
  fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
  exit(1);
}

static void finish_sends(void) {
  for (; sends > 0; --sends) wait_for_one(send_cq);
}

static void post_receive(void) {
  struct ibv_sge to = {(uintptr_t)&in, sizeof in, in_mr->lkey};
  struct ibv_recv_wr receive = {.sg_list = &to, .num_sge = 1}, *bad;
  MUST(ibv_post_recv(qp, &receive, &bad) == 0);
}

static void post_send(struct ibv_send_wr request, void* from, uint32_t length, uint32_t lkey) {
  struct ibv_sge piece = {(uintptr_t)from, length, lkey};
  struct ibv_send_wr* bad;
  request.sg_list = &piece;
  request.num_sge = 1;
  MUST(ibv_post_send(qp, &request, &bad) == 0);
  ++sends;
}

// Sends `out` with so many bytes of value.
static void send_message(uint32_t value_length) {
  post_send((struct ibv_send_wr){.opcode = IBV_WR_SEND}, &out, (uint32_t)offsetof(struct message, value) + value_length,
            out_mr->lkey);
}

// ---- The server.

static struct value store[kKeys];

// Transfers a value between here and the address of the client in the message.
static void post_transfer(enum ibv_wr_opcode opcode, struct value* value) {
  struct ibv_send_wr transfer = {.opcode = opcode};
  transfer.wr.rdma.remote_addr = in.address;
  transfer.wr.rdma.rkey = in.rkey;
  post_send(transfer, value->bytes, value->length, value_mr->lkey);
}

static void put(struct value* value) {
  MUST(in.length <= kValueMost);
  value->length = in.length;
  if (in.length <= kEager) {
    memcpy(value->bytes, in.value, in.length);
    return;
  }
  post_transfer(IBV_WR_RDMA_READ, value);
}

// Returns the bytes of value in the reply.
static uint32_t get(struct value* value) {
  out.length = value->length;
  if (value->length > kEager) {
    post_transfer(IBV_WR_RDMA_WRITE, value);  // the reply is executed after the WRITE
    return 0;
  }
  memcpy(out.value, value->bytes, value->length);
  return value->length;
}

static void serve(void) {
  value_mr = ibv_reg_mr(qp->pd, store, sizeof store, IBV_ACCESS_LOCAL_WRITE);
  MUST(value_mr != NULL);
  for (int served = 0;; ++served) {
    wait_for_one(recv_cq);
    if (in.operation == kEnd) {
      printf("%d requests\n", served);
      return;
    }
    MUST(in.key < kKeys);
    finish_sends();  // `out` may be written again
    out = (struct message){.operation = in.operation, .key = in.key};
    uint32_t value_length = 0;
    if (in.operation == kPut) {
      put(&store[in.key]);
    } else {
      value_length = get(&store[in.key]);
    }
    post_receive();
    send_message(value_length);
  }
}

// ---- The client.

static struct value mine;  // the value of a put or get

// Sends `out` and waits for the reply, which is in `in`.
static void ask(uint32_t value_length) {
  post_receive();
  send_message(value_length);
  wait_for_one(recv_cq);
}

static void put_value(uint32_t key) {
  finish_sends();  // `out` may be written again
  out = (struct message){.operation = kPut, .key = key, .length = mine.length};
  uint32_t value_length = 0;
  if (mine.length <= kEager) {
    memcpy(out.value, mine.bytes, mine.length);
    value_length = mine.length;
  } else {
    out.address = (uintptr_t)mine.bytes;
    out.rkey = value_mr->rkey;
  }
  ask(value_length);
}

static void get_value(uint32_t key) {
  finish_sends();
  out = (struct message){.operation = kGet, .key = key, .address = (uintptr_t)mine.bytes, .rkey = value_mr->rkey};
  ask(0);
  mine.length = in.length;
  if (in.length <= kEager) memcpy(mine.bytes, in.value, in.length);
}

static uint32_t length_of(uint32_t round, int has_large) {
  static const uint32_t lengths[] = {16, 1024, 200, 5000, 700, 32 << 10, 1025};
  return lengths[round % (has_large ? 7 : 3)];
}

static unsigned char byte_of(uint32_t round, uint32_t at) { return (unsigned char)(round * 31 + at * 7 + at / 256); }

static void call(int has_large) {
  value_mr = ibv_reg_mr(qp->pd, &mine, sizeof mine, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
  MUST(value_mr != NULL);
  int wrong = 0;
  for (uint32_t round = 0; round < kRounds; ++round) {
    mine.length = length_of(round, has_large);
    for (uint32_t i = 0; i < mine.length; ++i) mine.bytes[i] = byte_of(round, i);
    put_value(round % kKeys);
    memset(mine.bytes, 0xee, sizeof mine.bytes);  // the put is done, so the buffer may be written
    const uint32_t before = round < 3 ? 0 : round - 3;
    get_value(before % kKeys);
    int is_right = mine.length == length_of(before, has_large);
    for (uint32_t i = 0; i < mine.length && is_right; ++i) is_right = mine.bytes[i] == byte_of(before, i);
    wrong += !is_right;
  }
  printf("%d values, %d wrong\n", kRounds, wrong);
  finish_sends();
  out.operation = kEnd;
  send_message(0);
}

// `lab` is the server; `lab SERVER small` and `lab SERVER all` are clients.
int main(int count, char** arguments) {
  const char* const server = count > 1 ? arguments[1] : NULL;
  struct ibv_device** const devices = ibv_get_device_list(NULL);
  MUST(devices != NULL && devices[0] != NULL);
  struct ibv_context* const context = ibv_open_device(devices[0]);
  MUST(context != NULL);
  ibv_free_device_list(devices);
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  send_cq = ibv_create_cq(context, 8, NULL, NULL, 0);
  recv_cq = ibv_create_cq(context, 8, NULL, NULL, 0);
  MUST(pd != NULL && send_cq != NULL && recv_cq != NULL);
  struct ibv_qp_init_attr init = {.send_cq = send_cq,
                                  .recv_cq = recv_cq,
                                  .qp_type = IBV_QPT_RC,
                                  .sq_sig_all = 1,
                                  .cap = {.max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
  qp = ibv_create_qp(pd, &init);
  in_mr = ibv_reg_mr(pd, &in, sizeof in, IBV_ACCESS_LOCAL_WRITE);
  out_mr = ibv_reg_mr(pd, &out, sizeof out, 0);
  MUST(qp != NULL && in_mr != NULL && out_mr != NULL);
  const int tcp = lab_tcp(server);
  struct lab_end theirs;
  lab_connect(qp, tcp, (struct lab_end){.psn = 7}, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE, &theirs);
  if (server == NULL) post_receive();
  lab_meet(tcp);
  server == NULL ? serve() : call(count > 2 && strcmp(arguments[2], "all") == 0);
  finish_sends();
  lab_meet(tcp);
  close(tcp);
  MUST(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(send_cq) == 0 && ibv_destroy_cq(recv_cq) == 0);
  MUST(ibv_dereg_mr(in_mr) == 0 && ibv_dereg_mr(out_mr) == 0 && ibv_dereg_mr(value_mr) == 0);
  MUST(ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}
