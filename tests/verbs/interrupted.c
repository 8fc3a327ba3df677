// Commands of the control path while a timer's signal handler also makes calls: each gets its own answer.
#include <infiniband/verbs.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t handled;

static void on_alarm(int signal) {
  (void)signal;
  const struct timespec moment = {0, 300};
  nanosleep(&moment, NULL);
  const int fd = open("/proc/cpuinfo", O_RDONLY);
  if (fd >= 0) close(fd);
  ++handled;
}

int main(void) {
  struct ibv_device** devices = ibv_get_device_list(NULL);
  struct ibv_context* context = devices != NULL ? ibv_open_device(devices[0]) : NULL;
  struct ibv_pd* pd = context != NULL ? ibv_alloc_pd(context) : NULL;
  if (pd == NULL) return 1;
  static char buffer[4096];
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval often = {{0, 31}, {0, 31}};
  setitimer(ITIMER_REAL, &often, NULL);
  int right = 0;
  for (int i = 0; i < 300; ++i) {
    struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
    struct ibv_port_attr port;
    struct ibv_cq* cq = ibv_create_cq(context, 16, NULL, NULL, 0);
    right += mr != NULL && mr->lkey != 0 && cq != NULL && cq->cqe >= 16 &&
             ibv_query_port(context, 1, &port) == 0 && port.state == IBV_PORT_ACTIVE && ibv_destroy_cq(cq) == 0 &&
             ibv_dereg_mr(mr) == 0;
  }
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
  printf("%d right, interrupted %d\n", right, handled > 100);
  return right == 300 ? 0 : 1;
}
