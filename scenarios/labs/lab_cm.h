// What the labs with librdmacm share besides: the next event of a channel, and both ends of a connection as far as it is the same
// every time. Everything else is plain librdmacm and libibverbs.
#pragma once

#include <rdma/rdma_cma.h>

#include "lab.h"

enum { kLabPort = 18515 };

// Waits for the next event, which has to be of this kind, copies `length` bytes of its private data to `data` (NULL: none), and
// acknowledges it. The identifier that it is about.
static inline struct rdma_cm_id* lab_cm_expect(struct rdma_event_channel* channel, enum rdma_cm_event_type type, void* data,
                                               size_t length) {
  struct rdma_cm_event* event;
  MUST(rdma_get_cm_event(channel, &event) == 0);
  if (event->event != type) {
    fprintf(stderr, "%s instead of %s, status %d\n", rdma_event_str(event->event), rdma_event_str(type), event->status);
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

// Of the server: what clients ask for a connection.
static inline struct rdma_cm_id* lab_cm_listen(struct rdma_event_channel* channel, int clients) {
  struct rdma_cm_id* listener;
  struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(kLabPort)};
  MUST(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0);
  MUST(rdma_bind_addr(listener, (struct sockaddr*)&any) == 0 && rdma_listen(listener, clients) == 0);
  return listener;
}

// Of a client: an identifier that knows its device and the way to `server`, and has no queue pair yet.
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

// What both sides say when they connect: READs at a time, and how often something is sent again (7 of RNR: without end).
static inline struct rdma_conn_param lab_cm_parameters(const void* data, size_t length) {
  return (struct rdma_conn_param){.private_data = data,
                                  .private_data_len = (uint8_t)length,
                                  .responder_resources = 1,
                                  .initiator_depth = 1,
                                  .retry_count = 7,
                                  .rnr_retry_count = 7};
}
