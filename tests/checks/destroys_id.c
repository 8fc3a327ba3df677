// Destroys an rdma_cm identifier that has an unacknowledged event, which never returns.
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>

int main(int argc, char** argv) {
  struct rdma_event_channel* channel = rdma_create_event_channel();
  struct rdma_cm_id* id;
  struct rdma_cm_event* event;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(7000)};
  if (argc < 2 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) return 1;
  if (channel == NULL || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) != 0) return 1;
  if (rdma_resolve_addr(id, NULL, (struct sockaddr*)&to, 1000) != 0) return 1;
  if (rdma_get_cm_event(channel, &event) != 0) return 1;
  printf("%s\n", rdma_event_str(event->event));
  fflush(stdout);
  return rdma_destroy_id(id);
}
