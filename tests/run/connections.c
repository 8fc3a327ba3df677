// `connections N` accepts N connections by librdmacm, one after another; `connections N SERVER` makes them.
// Each has a queue pair of its own with queues and channels, and the client closes it.
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(condition)                                             \
  do {                                                              \
    if (!(condition)) {                                             \
      printf("line %d: does not hold: %s\n", __LINE__, #condition); \
      exit(1);                                                      \
    }                                                               \
  } while (0)

static struct rdma_event_channel* channel;

static struct rdma_cm_id* await(enum rdma_cm_event_type type) {
  struct rdma_cm_event* event;
  MUST(rdma_get_cm_event(channel, &event) == 0);
  MUST(event->event == type);
  struct rdma_cm_id* const id = event->id;
  MUST(rdma_ack_cm_event(event) == 0);
  return id;
}

static void make_queue_pair(struct rdma_cm_id* id) {
  struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC};
  init.cap.max_send_wr = init.cap.max_recv_wr = 8;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  MUST(rdma_create_qp(id, NULL, &init) == 0);
}

static void end(struct rdma_cm_id* id) {
  rdma_destroy_qp(id);
  MUST(rdma_destroy_id(id) == 0);
}

int main(int argc, char** argv) {
  const int count = atoi(argv[1]);
  struct rdma_conn_param parameters = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7};
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(18700)};
  channel = rdma_create_event_channel();
  MUST(channel != NULL);
  if (argc == 2) {
    struct rdma_cm_id* listener;
    MUST(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_bind_addr(listener, (struct sockaddr*)&address) == 0 && rdma_listen(listener, 4) == 0);
    for (int i = 0; i < count; ++i) {
      struct rdma_cm_id* const id = await(RDMA_CM_EVENT_CONNECT_REQUEST);
      make_queue_pair(id);
      MUST(rdma_accept(id, &parameters) == 0);
      await(RDMA_CM_EVENT_ESTABLISHED);
      await(RDMA_CM_EVENT_DISCONNECTED);
      MUST(rdma_disconnect(id) == 0);
      end(id);
    }
    return 0;
  }
  const struct addrinfo hints = {.ai_family = AF_INET};
  struct addrinfo* found;
  MUST(getaddrinfo(argv[2], NULL, &hints, &found) == 0);
  address.sin_addr = ((struct sockaddr_in*)found->ai_addr)->sin_addr;
  freeaddrinfo(found);
  for (int i = 0; i < count; ++i) {
    struct rdma_cm_id* id;
    MUST(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_resolve_addr(id, NULL, (struct sockaddr*)&address, 1000) == 0);
    await(RDMA_CM_EVENT_ADDR_RESOLVED);
    MUST(rdma_resolve_route(id, 1000) == 0);
    await(RDMA_CM_EVENT_ROUTE_RESOLVED);
    make_queue_pair(id);
    MUST(rdma_connect(id, &parameters) == 0);
    await(RDMA_CM_EVENT_ESTABLISHED);
    MUST(rdma_disconnect(id) == 0);
    await(RDMA_CM_EVENT_DISCONNECTED);
    end(id);
  }
  return 0;
}
