// Shared by the labs with librdmacm: the next event of a channel, and the first steps of both ends of a connection. Everything
// else is plain librdmacm and libibverbs.
#pragma once

#include <rdma/rdma_cma.h>

#include "lab.h"

// These calls return -1 and set errno, which MUST prints.
#define rdma_get_cm_event(...) lab_keep("rdma_get_cm_event", rdma_get_cm_event(__VA_ARGS__))
#define rdma_create_id(...) lab_keep("rdma_create_id", rdma_create_id(__VA_ARGS__))
#define rdma_create_qp(...) lab_keep("rdma_create_qp", rdma_create_qp(__VA_ARGS__))
#define rdma_accept(...) lab_keep("rdma_accept", rdma_accept(__VA_ARGS__))
#define rdma_connect(...) lab_keep("rdma_connect", rdma_connect(__VA_ARGS__))
#define rdma_disconnect(...) lab_keep("rdma_disconnect", rdma_disconnect(__VA_ARGS__))
#define rdma_destroy_id(...) lab_keep("rdma_destroy_id", rdma_destroy_id(__VA_ARGS__))

enum { kLabPort = 18515 };

// Waits for the next event, copies `length` bytes of its private data to `data` (NULL: none), acknowledges it, and returns its
// identifier. An event of another type than `type` ends the program.
static inline struct rdma_cm_id* lab_cm_expect(struct rdma_event_channel* channel, enum rdma_cm_event_type type, void* data,
                                               size_t length) {
  struct rdma_cm_event* event;
  MUST(rdma_get_cm_event(channel, &event) == 0);
  if (event->event != type) {
    fprintf(stderr, "the event is %s with status %d; expected is %s\n", rdma_event_str(event->event), event->status,
            rdma_event_str(type));
    exit(1);
  }
  if (data != NULL) {
    MUST(event->param.conn.private_data_len >= length);
    memcpy(data, event->param.conn.private_data, length);
  }
  struct rdma_cm_id* const id = event->id;
  MUST(rdma_ack_cm_event(event) == 0);
  return id;
}

// Server: returns an identifier that listens for clients.
static inline struct rdma_cm_id* lab_cm_listen(struct rdma_event_channel* channel, int clients) {
  struct rdma_cm_id* listener;
  struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(kLabPort)};
  MUST(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0);
  MUST(rdma_bind_addr(listener, (struct sockaddr*)&any) == 0 && rdma_listen(listener, clients) == 0);
  return listener;
}

// Client: returns an identifier with a device and a route to `server`, and without a queue pair.
static inline struct rdma_cm_id* lab_cm_resolve(struct rdma_event_channel* channel, const char* server) {
  struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
  MUST(getaddrinfo(server, NULL, &hints, &found) == 0);
  struct sockaddr_in to = *(struct sockaddr_in*)found->ai_addr;
  to.sin_port = htons(kLabPort);
  freeaddrinfo(found);
  struct rdma_cm_id* id;
  MUST(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
  MUST(rdma_resolve_addr(id, NULL, (struct sockaddr*)&to, 2000) == 0);
  lab_cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED, NULL, 0);
  MUST(rdma_resolve_route(id, 2000) == 0);
  lab_cm_expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL, 0);
  return id;
}

// Parameters of both sides: READs at a time, and retries (an RNR retry count of 7 has no limit).
static inline struct rdma_conn_param lab_cm_parameters(const void* data, size_t length) {
  return (struct rdma_conn_param){.private_data = data,
                                  .private_data_len = (uint8_t)length,
                                  .responder_resources = 1,
                                  .initiator_depth = 1,
                                  .retry_count = 7,
                                  .rnr_retry_count = 7};
}
