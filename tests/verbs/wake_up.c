// Sleeps for one event of the adapter by the method of its argument, and exits, so that the trace shows the time.
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "ends.h"

static void sleep_in_poll(int fd, int timeout_ms) {
  struct pollfd entry = {.fd = fd, .events = POLLIN};
  printf("poll: %d\n", poll(&entry, 1, timeout_ms));
}

static void sleep_in_epoll(int fd) {
  const int set = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN | EPOLLET};
  epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
  printf("epoll: %d\n", epoll_wait(set, &event, 1, -1));
}

static void sleep_in_select(int fd) {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(fd, &set);
  printf("select: %d\n", select(fd + 1, &set, NULL, NULL, NULL));
}

static void take_completion_event(void) {
  struct ibv_cq* cq;
  void* context;
  printf("completion event: %d\n", ibv_get_cq_event(channel, &cq, &context));
  ibv_ack_cq_events(cq, 1);
}

static void take_async_event(void) {
  struct ibv_async_event event;
  printf("asynchronous event: %d\n", ibv_get_async_event(device, &event));
  ibv_ack_async_event(&event);
}

int main(int count, char** arguments) {
  const char* const way = count > 1 ? arguments[1] : "";
  struct ibv_device** devices = ibv_get_device_list(NULL);
  device = ibv_open_device(devices[0]);
  if (device == NULL || ibv_query_port(device, 1, &port) != 0 || ibv_query_gid(device, 1, 0, &gid) != 0) return 1;
  channel = ibv_create_comp_channel(device);
  const int async = strstr(way, "async") != NULL;
  options = (struct Options){.cq_channel = 1, .srq = async};
  connect_ends();
  post_recv(&b, 1, 64);
  struct ibv_srq_attr limit = {.srq_limit = 1};
  if (async && ibv_modify_srq(b.srq, &limit, IBV_SRQ_LIMIT) != 0) return 1;
  if (!async && ibv_req_notify_cq(b.recv_cq, 0) != 0) return 1;
  settle();
  post_simple(2, IBV_WR_SEND, 64);
  if (strcmp(way, "poll") == 0) sleep_in_poll(channel->fd, -1);
  if (strcmp(way, "deadline") == 0) sleep_in_poll(channel->fd, 1);  // the event comes before it, and the deadline after that
  if (strcmp(way, "epoll") == 0) sleep_in_epoll(channel->fd);
  if (strcmp(way, "select") == 0) sleep_in_select(channel->fd);
  if (strcmp(way, "poll async") == 0) sleep_in_poll(device->async_fd, -1);
  if (strcmp(way, "late") == 0 || strcmp(way, "late async") == 0) settle();  // it is there
  if (async) {
    take_async_event();
  } else {
    take_completion_event();
  }
  return 0;
}
