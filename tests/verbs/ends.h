// Two ends of a connection in one program and on one adapter, and what a case of the table looks at when it
// is over: completions of both, states of both queue pairs, asynchronous events. Plain verbs.
#pragma once

#include <infiniband/verbs.h>
#include <stdint.h>

enum { kBufferBytes = 1 << 16, kDepth = 8, kQkey = 0x11111111 };

struct End {
  struct ibv_pd* pd;
  struct ibv_cq *send_cq, *recv_cq;
  struct ibv_srq* srq;
  struct ibv_qp* qp;
  struct ibv_mr* mr;
  uint8_t* buffer;
};

// Settings of a case's connection; zero is the default.
struct Options {
  enum ibv_qp_type type;  // RC
  int access_b;           // -1: none; else of queue pair B
  int mtu_b;
  int rnr_retry;                          // -1: none; 7 is the usual
  int max_rd_atomic, max_dest_rd_atomic;  // -1: none; 4 is the usual
  int sq_sig_all, srq, cqe, cq_channel;
  int one_cq;      // B's receives complete where A's sends do
  int b_stops_at;  // INIT or RTR; -1: RESET; default: RTS
};

extern struct ibv_context* device;
extern struct ibv_port_attr port;
extern union ibv_gid gid;
extern struct ibv_comp_channel* channel;
extern struct End a, b;
extern struct ibv_mr* extra;  // a region of the case, destroyed with the ends
extern struct Options options;

// Makes both ends by `options` and connects them.
void connect_ends(void);
// Prints what became of them, in one line behind `name`, and destroys them.
void finish_ends(const char* name);
// Waits until everything in flight has arrived.
void settle(void);

// Prints into the line of the case.
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));
const char* name_of_error(int error);

int try_modify(struct ibv_qp* qp, enum ibv_qp_state state, int more, struct ibv_qp_attr* attributes);
int to_state(struct End* end, enum ibv_qp_state state);
struct ibv_ah* address_of_this_port(int global);

struct ibv_sge sge_of(const struct End* end, uint32_t offset, uint32_t length);
int post_recv(struct End* end, uint64_t id, uint32_t length);
// A work request of A with one entry, towards B's buffer.
struct ibv_send_wr request(uint64_t id, enum ibv_wr_opcode opcode, struct ibv_sge* sge);
int post(struct ibv_send_wr* wr);
int post_simple(uint64_t id, enum ibv_wr_opcode opcode, uint32_t length);
