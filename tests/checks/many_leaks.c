// Makes 130 processes, each of which leaves a protection domain behind.
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  for (int i = 0; i < 130; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      struct ibv_device** devices = ibv_get_device_list(NULL);
      struct ibv_context* context = devices != NULL ? ibv_open_device(devices[0]) : NULL;
      exit(context != NULL && ibv_alloc_pd(context) != NULL ? 0 : 1);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  printf("done\n");
  return 0;
}
