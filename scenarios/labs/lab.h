// What all labs share: an end of a TCP connection by which two programs tell each other what verbs do not, and a macro that
// gives up with a sentence. Everything else is plain libibverbs; nothing of this header is needed outside the labs.
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

// Ends the program when the condition does not hold, and says where and why.
#define MUST(condition)                                                                                \
  do {                                                                                                 \
    if (!(condition)) {                                                                                \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, strerror(errno));             \
      exit(1);                                                                                         \
    }                                                                                                  \
  } while (0)

// A connection to the program on host `server`, or, when that is NULL, from the one that calls.
static inline int lab_tcp(const char* server) {
  const int port = 18515, fd = socket(AF_INET, SOCK_STREAM, 0);
  MUST(fd >= 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  if (server == NULL) {
    const int again = 1;  // there may be connections by this port already
    MUST(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &again, sizeof again) == 0);
    MUST(bind(fd, (struct sockaddr*)&address, sizeof address) == 0 && listen(fd, 1) == 0);
    const int accepted = accept(fd, NULL, NULL);
    MUST(accepted >= 0);
    close(fd);
    return accepted;
  }
  struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
  MUST(getaddrinfo(server, NULL, &hints, &found) == 0);
  address.sin_addr = ((struct sockaddr_in*)found->ai_addr)->sin_addr;
  freeaddrinfo(found);
  MUST(connect(fd, (struct sockaddr*)&address, sizeof address) == 0);
  return fd;
}

// Gives `mine` to the other program and gets what that gives into `theirs`.
static inline void lab_exchange(int tcp, const void* mine, void* theirs, size_t length) {
  MUST(write(tcp, mine, length) == (ssize_t)length);
  for (size_t done = 0; done < length;) {
    const ssize_t n = read(tcp, (char*)theirs + done, length - done);
    MUST(n > 0);
    done += (size_t)n;
  }
}

// What the other end of a connection has to know of a queue pair.
struct lab_end {
  uint32_t qp_num, psn, rkey;
  uint16_t lid;
  uint64_t address;
};

// A reliable connection between `qp` and the one that the other program gives: INIT, RTR, RTS. `access`: what the peer may do
// with memory (IBV_ACCESS_…). `theirs`: what the peer said of its end. What is not acknowledged in 4.096 us times 2 to the power
// of `timeout` is sent again, `retries` times.
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
  // What only sends (XRC) has nothing to say of what comes, and the other way round.
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

// The same, with what is usual: 67 ms, seven times.
static inline void lab_connect(struct ibv_qp* qp, int tcp, struct lab_end mine, int access, struct lab_end* theirs) {
  lab_connect_with(qp, tcp, mine, access, theirs, 14, 7);
}

// Both programs have come here.
static inline void lab_meet(int tcp) {
  char mine = 0, theirs = 1;
  lab_exchange(tcp, &mine, &theirs, 1);
}
