// CPU time of calls: nanoseconds between two reads of the clock, including the second one. One line each.
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "ends.h"

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static void show(const char* name, int64_t since) { printf("%s: %lld\n", name, (long long)(now() - since)); }

static void post_sends(int count, uint32_t length, int flags) {
  for (int i = 0; i < count; ++i) {
    struct ibv_sge sge = sge_of(&a, 0, length);
    struct ibv_send_wr wr = request(1, IBV_WR_RDMA_WRITE, &sge), *bad;
    wr.send_flags = flags;
    ibv_post_send(a.qp, &wr, &bad);
  }
}

int main(void) {
  struct ibv_device** devices = ibv_get_device_list(NULL);
  device = ibv_open_device(devices[0]);
  if (device == NULL || ibv_query_port(device, 1, &port) != 0 || ibv_query_gid(device, 1, 0, &gid) != 0) return 1;
  channel = ibv_create_comp_channel(device);
  options = (struct Options){.cq_channel = 1};
  connect_ends();

  // The adapter has fetched the first and requests no doorbell, so the others are calls only.
  struct ibv_sge sge = sge_of(&b, 0, 64);
  struct ibv_recv_wr second = {.num_sge = 1, .sg_list = &sge}, first = second, *bad;
  first.next = &second;
  post_recv(&b, 1, 64);
  settle();
  int64_t start = now();
  ibv_post_recv(b.qp, &second, &bad);
  show("receive", start);
  start = now();
  ibv_post_recv(b.qp, &first, &bad);
  show("list of two receives", start);

  start = now();
  struct ibv_pd* domain = ibv_alloc_pd(device);
  show("command", start);
  if (domain == NULL) return 1;

  struct ibv_wc done[8];
  start = now();
  for (int i = 0; i < 100; ++i) ibv_poll_cq(a.send_cq, 8, done);
  show("100 empty polls", start);

  start = now();
  post_sends(4, 64, IBV_SEND_SIGNALED);
  show("4 sends", start);
  settle();
  start = now();
  ibv_poll_cq(a.send_cq, 8, done);
  show("poll of 4 completions", start);
  start = now();
  post_sends(4, 64, IBV_SEND_INLINE);
  show("4 sends of inline data", start);
  start = now();
  post_sends(4, 65, IBV_SEND_INLINE);
  show("4 refused sends", start);
  start = now();
  ibv_req_notify_cq(a.send_cq, 0);
  show("arm", start);
  start = now();
  syscall(SYS_getppid);
  show("system call", start);
  start = now();
  syscall(SYS_getppid);
  __rdtsc();
  show("system call and counter", start);
  return 0;
}
