// A receiver runs out of receives, is idle for a while and posts more; prints the time that an equal number
// of messages then takes, in nanoseconds.
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "ends.h"

enum { kMessages = 5 };

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static int wait_for(int count) {
  struct ibv_wc completion;
  while (count > 0) {
    if (ibv_poll_cq(a.send_cq, 1, &completion) < 1) continue;
    if (completion.status != IBV_WC_SUCCESS) return printf("%s\n", ibv_wc_status_str(completion.status)), 1;
    --count;
  }
  return 0;
}

int main(void) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  device = list != NULL && list[0] != NULL ? ibv_open_device(list[0]) : NULL;
  if (device == NULL || ibv_query_port(device, 1, &port) != 0 || ibv_query_gid(device, 1, 0, &gid) != 0) return 1;
  connect_ends();
  if (post_recv(&b, 1, 8) != 0 || post_simple(1, IBV_WR_SEND, 8) != 0 || wait_for(1) != 0) return 1;
  usleep(100);
  struct ibv_sge sge = sge_of(&b, 0, 8);
  struct ibv_recv_wr receives[kMessages], *bad;
  for (int i = 0; i < kMessages; ++i) {
    receives[i] = (struct ibv_recv_wr){.wr_id = 2 + i, .sg_list = &sge, .num_sge = 1};
    if (i > 0) receives[i - 1].next = &receives[i];
  }
  if (ibv_post_recv(b.qp, receives, &bad) != 0) return 1;
  usleep(100);
  const int64_t begin = now_ns();
  for (int i = 0; i < kMessages; ++i) {
    if (post_simple(2 + i, IBV_WR_SEND, 8) != 0) return 1;
  }
  if (wait_for(kMessages) != 0) return 1;
  printf("%lld\n", (long long)(now_ns() - begin));
  return 0;
}
