// Two programs of one host poll empty completion queues of their own until an alarm ends them.
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;
static void end(int signal) { is_over = signal; }

int main(void) {
  const pid_t child = fork();
  struct ibv_context* const context = ibv_open_device(ibv_get_device_list(NULL)[0]);
  struct ibv_cq* const cq = context == NULL ? NULL : ibv_create_cq(context, 4, NULL, NULL, 0);
  if (cq == NULL) return 1;
  signal(SIGALRM, end);
  const struct itimerval timer = {.it_value = {0, child == 0 ? 300 : 400}};
  setitimer(ITIMER_REAL, &timer, NULL);
  struct ibv_wc wc;
  while (!is_over) {
    if (ibv_poll_cq(cq, 1, &wc) != 0) return 1;
  }
  int status = 0;
  if (child != 0 && (wait(&status) != child || status != 0)) return 1;
  printf("%s: over\n", child == 0 ? "child" : "parent");
  return 0;
}
