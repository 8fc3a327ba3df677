// Cost of resolving a peer's address on Ethernet: "neighbours". A line per query, with result and duration;
// and whether another thread and a signal handler run meanwhile.
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static struct ibv_pd* pd;
static volatile int alarms, asked;

static long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void on_alarm(int signal) {
  (void)signal;
  ++alarms;
}

static struct ibv_ah_attr path_to(const char* gid, int gid_index) {
  struct ibv_ah_attr path = {.port_num = 1, .is_global = 1, .grh = {.sgid_index = (uint8_t)gid_index}};
  if (inet_pton(AF_INET6, gid, path.grh.dgid.raw) != 1) exit(2);
  return path;
}

static const char* name_of(int error) { return error == 0 ? "0" : strerrorname_np(error); }

static void ask_for_handle(const char* what, const char* gid, int gid_index) {
  struct ibv_ah_attr path = path_to(gid, gid_index);
  const long start = now_ms();
  errno = 0;
  struct ibv_ah* ah = ibv_create_ah(pd, &path);
  printf("%s: %s after %ld ms\n", what, name_of(ah == NULL ? errno : 0), now_ms() - start);
  if (ah != NULL) ibv_destroy_ah(ah);
}

static void ask_for_connection(struct ibv_qp* qp, const char* what, const char* gid, int gid_index) {
  struct ibv_qp_attr to = {.qp_state = IBV_QPS_RTR,
                           .path_mtu = IBV_MTU_1024,
                           .ah_attr = path_to(gid, gid_index),
                           .dest_qp_num = qp->qp_num,
                           .max_dest_rd_atomic = 1,
                           .min_rnr_timer = 12};
  const long start = now_ms();
  const int error = ibv_modify_qp(qp, &to,
                                  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  struct ibv_qp_init_attr init;
  const long took = now_ms() - start;
  ibv_query_qp(qp, &to, IBV_QP_STATE, &init);
  printf("%s: %s after %ld ms, state %d\n", what, name_of(error), took, to.qp_state);
}

static void* other_thread(void* unused) {
  (void)unused;
  usleep(500000);
  ask_for_handle("meanwhile, another group", "ff0e::1", 0);
  ++asked;
  return NULL;
}

int main(void) {
  struct ibv_device** devices = ibv_get_device_list(NULL);
  struct ibv_context* device = ibv_open_device(devices[0]);
  pd = ibv_alloc_pd(device);
  ask_for_handle("nobody", "fe80::dead:beef", 0);
  ask_for_handle("nobody over IPv4", "::ffff:10.99.99.99", 1);
  ask_for_handle("zero", "::", 0);
  ask_for_handle("IPv4 from IPv6", "::ffff:10.99.99.99", 0);
  ask_for_handle("IPv6 from IPv4", "fe80::dead:beef", 1);
  ask_for_handle("empty index", "fe80::dead:beef", 7);

  struct ibv_cq* cq = ibv_create_cq(device, 8, NULL, NULL, 0);
  struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
  struct ibv_qp* qp = ibv_create_qp(pd, &init);
  struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT, .port_num = 1};
  if (ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0) return 1;
  ask_for_connection(qp, "connection to nobody", "fe80::dead:beef", 0);
  ask_for_connection(qp, "connection to a group", "ff0e::1", 0);
  union ibv_gid own;
  ibv_query_gid(device, 1, 0, &own);
  char text[INET6_ADDRSTRLEN];
  inet_ntop(AF_INET6, own.raw, text, sizeof text);

  signal(SIGALRM, on_alarm);
  const struct itimerval soon = {.it_value = {0, 300000}};
  setitimer(ITIMER_REAL, &soon, NULL);
  pthread_t thread;
  pthread_create(&thread, NULL, other_thread, NULL);
  ask_for_handle("nobody, among others", "fe80::dead:beef", 0);
  printf("alarms %d, others %d\n", alarms, asked);
  pthread_join(thread, NULL);
  ask_for_connection(qp, "connection to itself", text, 0);
  return 0;
}
