// Shared by the small verbs programs of the tests: a connection between two hosts, set up over TCP like
// ibv_rc_pingpong's. Plain verbs and sockets, without code of the project.
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define MUST(condition)                                                                             \
  do {                                                                                              \
    if (!(condition)) {                                                                             \
      printf("%s:%d: does not hold: %s (errno %d: %s)\n", strrchr("/" __FILE__, '/') + 1, __LINE__, \
             #condition, errno, strerror(errno));                                                   \
      exit(1);                                                                                      \
    }                                                                                               \
  } while (0)

static inline void tcp_write(int fd, const void* bytes, size_t length) {
  MUST(write(fd, bytes, length) == (ssize_t)length);
}

static inline void tcp_read(int fd, void* bytes, size_t length) {
  for (size_t done = 0; done < length;) {
    const ssize_t n = read(fd, (char*)bytes + done, length - done);
    if (n < 0 && errno == EINTR) continue;
    MUST(n > 0);
    done += (size_t)n;
  }
}

// Without a server's name this end waits for the other one.
static inline int tcp_pair(const char* server, int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  MUST(fd >= 0);
  if (server == NULL) {
    const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(port)};
    MUST(bind(fd, (const struct sockaddr*)&any, sizeof any) == 0 && listen(fd, 1) == 0);
    const int accepted = accept(fd, NULL, NULL);
    MUST(accepted >= 0);
    close(fd);
    return accepted;
  }
  const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
  struct addrinfo* found = NULL;
  MUST(getaddrinfo(server, NULL, &hints, &found) == 0);
  struct sockaddr_in peer = *(struct sockaddr_in*)found->ai_addr;
  peer.sin_port = htons(port);
  freeaddrinfo(found);
  MUST(connect(fd, (const struct sockaddr*)&peer, sizeof peer) == 0);
  return fd;
}

// Zeroed memory at an address of the program's choice. Packets carry addresses, and neither a compiler nor the size of a
// library may decide what they say.
static inline void* chosen_memory(size_t bytes) {
  void* const place = (void*)0x10000000;
  MUST(mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
       place);
  return place;
}

static inline struct ibv_context* open_first_device(void) {
  int count = 0;
  struct ibv_device** devices = ibv_get_device_list(&count);
  MUST(devices != NULL && count > 0);
  struct ibv_context* context = ibv_open_device(devices[0]);
  MUST(context != NULL);
  ibv_free_device_list(devices);
  return context;
}

// One end of a queue pair, and the memory behind it.
struct rc_address {
  uint32_t lid, qpn, psn, rkey;
  uint64_t address;
};

struct rc_options {
  enum ibv_mtu mtu;
  uint8_t rnr_timer;  // IBTA encoding: 1 is 10 us, 12 is 640 us
  uint8_t reads;      // outstanding RDMA READs in each direction
  int access;         // of the other end, in addition to RDMA WRITE and READ
  uint8_t timeout;    // IBTA encoding; 0: 14, 67 ms
  int rnr_ends;       // what the other end has no receive for is not sent again for ever
};

static inline void rc_exchange(int fd, const struct rc_address* mine, struct rc_address* theirs) {
  tcp_write(fd, mine, sizeof *mine);
  tcp_read(fd, theirs, sizeof *theirs);
}

static inline uint16_t port_lid(struct ibv_context* context) {
  struct ibv_port_attr port;
  MUST(ibv_query_port(context, 1, &port) == 0);
  return port.lid;
}

// RESET to RTS.
static inline void rc_connect(struct ibv_qp* qp, const struct rc_address* mine,
                              const struct rc_address* theirs, const struct rc_options* options) {
  struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
  init.qp_access_flags = (unsigned)(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | options->access);
  MUST(ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR, .path_mtu = options->mtu, .dest_qp_num = theirs->qpn};
  rtr.rq_psn = theirs->psn;
  rtr.max_dest_rd_atomic = options->reads;
  rtr.min_rnr_timer = options->rnr_timer;
  rtr.ah_attr.dlid = (uint16_t)theirs->lid;
  rtr.ah_attr.port_num = 1;
  MUST(ibv_modify_qp(qp, &rtr,
                     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
  struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS, .sq_psn = mine->psn, .retry_cnt = 7};
  rts.timeout = options->timeout != 0 ? options->timeout : 14;
  rts.rnr_retry = options->rnr_ends ? 6 : 7;  // for ever
  rts.max_rd_atomic = options->reads;
  MUST(ibv_modify_qp(qp, &rts,
                     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                         IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}
