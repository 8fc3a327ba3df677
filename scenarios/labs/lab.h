// Shared by all labs: MUST, which ends the program with a message, and a TCP connection on which two programs exchange what they
// must know of each other. Everything else is plain libibverbs. Nothing of this header is needed outside the labs.
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// The last call that returns an error number (0: none), for the message of MUST.
static __thread struct {
  const char* call;
  int value;
} lab_last __attribute__((unused));

__attribute__((unused)) static inline int lab_keep(const char* call, int value) {
  lab_last.call = call;
  lab_last.value = value;
  return value;
}

// Ends the program: the condition of a MUST did not hold.
__attribute__((unused, noreturn)) static inline void lab_fail(const char* file, int line, const char* condition, int error) {
  const char* const call = lab_last.call;
  fprintf(stderr, "%s:%d: MUST(%s) failed", file, line, condition);
  if (call != NULL && lab_last.value != 0 && strstr(condition, call) != NULL) {
    fprintf(stderr, ": %s returned %d", call, lab_last.value);
    if (lab_last.value == -1) fprintf(stderr, ", errno is %d (%s)", error, strerror(error));
    else fprintf(stderr, " (%s)", strerror(lab_last.value));
    if (lab_last.value == ENOMEM && strncmp(call, "ibv_post_", 9) == 0)
      fprintf(stderr, ": the queue is full; a slot becomes free when the completion of a request has been polled");
  } else if (error != 0 && (strchr(condition, '(') != NULL || strstr(condition, "NULL") != NULL || strstr(condition, ">= 0") != NULL)) {
    fprintf(stderr, ": errno is %d (%s)", error, strerror(error));
  }
  fprintf(stderr, "\n");
  exit(1);
}

// Ends the program if the condition does not hold, and prints where, and what the call in it returned.
#define MUST(condition)                                                    \
  do {                                                                     \
    if (!(condition)) lab_fail(__FILE__, __LINE__, #condition, errno);     \
  } while (0)

// These calls return an error number, which MUST prints. They are the calls of libibverbs and nothing else.
#define ibv_post_send(...) lab_keep("ibv_post_send", ibv_post_send(__VA_ARGS__))
#define ibv_post_recv(...) lab_keep("ibv_post_recv", ibv_post_recv(__VA_ARGS__))
#define ibv_post_srq_recv(...) lab_keep("ibv_post_srq_recv", ibv_post_srq_recv(__VA_ARGS__))
#define ibv_modify_qp(...) lab_keep("ibv_modify_qp", ibv_modify_qp(__VA_ARGS__))
#define ibv_modify_srq(...) lab_keep("ibv_modify_srq", ibv_modify_srq(__VA_ARGS__))
#define ibv_req_notify_cq(...) lab_keep("ibv_req_notify_cq", ibv_req_notify_cq(__VA_ARGS__))
#define ibv_get_cq_event(...) lab_keep("ibv_get_cq_event", ibv_get_cq_event(__VA_ARGS__))
#define ibv_get_async_event(...) lab_keep("ibv_get_async_event", ibv_get_async_event(__VA_ARGS__))
#define ibv_destroy_qp(...) lab_keep("ibv_destroy_qp", ibv_destroy_qp(__VA_ARGS__))
#define ibv_destroy_cq(...) lab_keep("ibv_destroy_cq", ibv_destroy_cq(__VA_ARGS__))
#define ibv_destroy_srq(...) lab_keep("ibv_destroy_srq", ibv_destroy_srq(__VA_ARGS__))
#define ibv_destroy_comp_channel(...) lab_keep("ibv_destroy_comp_channel", ibv_destroy_comp_channel(__VA_ARGS__))
#define ibv_dereg_mr(...) lab_keep("ibv_dereg_mr", ibv_dereg_mr(__VA_ARGS__))
#define ibv_dealloc_pd(...) lab_keep("ibv_dealloc_pd", ibv_dealloc_pd(__VA_ARGS__))
#define ibv_close_device(...) lab_keep("ibv_close_device", ibv_close_device(__VA_ARGS__))

// Returns a TCP connection to the program on host `server`, or, if that is NULL, from the program that connects. The
// listening socket stays open: clients that connect between two calls wait for the next one.
static inline int lab_tcp(const char* server) {
  static int listener = -1;
  const int port = 18515;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  if (server == NULL) {
    if (listener < 0) {
      const int again = 1;  // earlier connections of this port may exist
      listener = socket(AF_INET, SOCK_STREAM, 0);
      MUST(listener >= 0);
      MUST(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &again, sizeof again) == 0);
      MUST(bind(listener, (struct sockaddr*)&address, sizeof address) == 0 && listen(listener, 16) == 0);
    }
    const int accepted = accept(listener, NULL, NULL);
    MUST(accepted >= 0);
    return accepted;
  }
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  MUST(fd >= 0);
  struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
  MUST(getaddrinfo(server, NULL, &hints, &found) == 0);
  address.sin_addr = ((struct sockaddr_in*)found->ai_addr)->sin_addr;
  freeaddrinfo(found);
  MUST(connect(fd, (struct sockaddr*)&address, sizeof address) == 0);
  return fd;
}

// Sends `mine` to the other program, and receives as many bytes of it into `theirs`.
static inline void lab_exchange(int tcp, const void* mine, void* theirs, size_t length) {
  MUST(write(tcp, mine, length) == (ssize_t)length);
  for (size_t done = 0; done < length;) {
    const ssize_t n = read(tcp, (char*)theirs + done, length - done);
    MUST(n > 0);
    done += (size_t)n;
  }
}

// The facts about one end of a connection that the other end needs.
struct lab_end {
  uint32_t qp_num, psn, rkey;
  uint16_t lid;
  uint64_t address;
};

// Connects `qp` with the queue pair of the other program: INIT, RTR, RTS. `access`: what the peer may do with memory
// (IBV_ACCESS_…). `theirs`: filled with the other end. A packet that is not acknowledged within 4.096 us times 2 to the power of
// `timeout` is sent again, up to `retries` times.
static inline void lab_connect_with(struct ibv_qp* qp, int tcp, struct lab_end mine, int access, struct lab_end* theirs,
                                    int timeout, int retries) {
  struct ibv_port_attr port;
  MUST(ibv_query_port(qp->context, 1, &port) == 0);
  mine.qp_num = qp->qp_num;
  mine.lid = port.lid;
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = (unsigned)access};
  MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  lab_exchange(tcp, &mine, theirs, sizeof mine);
  attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                              .path_mtu = IBV_MTU_1024,
                              .dest_qp_num = theirs->qp_num,
                              .rq_psn = theirs->psn,
                              .max_dest_rd_atomic = 1,
                              .min_rnr_timer = 12,
                              .ah_attr = {.dlid = theirs->lid, .port_num = 1}};
  // An XRC queue pair that only sends has no attributes of receiving, and the other way round.
  const int receives = qp->qp_type == IBV_QPT_XRC_SEND ? 0 : IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  const int sends = qp->qp_type == IBV_QPT_XRC_RECV ? 0 : IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  MUST(ibv_modify_qp(qp, &attr,
                     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | receives) == 0);
  attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                              .timeout = (uint8_t)timeout,
                              .retry_cnt = (uint8_t)retries,
                              .rnr_retry = 7,
                              .sq_psn = mine.psn,
                              .max_rd_atomic = 1};
  MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN | sends) == 0);
}

// The same with usual values: 67 ms, seven times.
static inline void lab_connect(struct ibv_qp* qp, int tcp, struct lab_end mine, int access, struct lab_end* theirs) {
  lab_connect_with(qp, tcp, mine, access, theirs, 14, 7);
}

// Returns when both programs have called it.
static inline void lab_meet(int tcp) {
  char mine = 0, theirs = 1;
  lab_exchange(tcp, &mine, &theirs, 1);
}
