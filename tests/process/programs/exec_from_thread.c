// A thread other than the first calls exec: the other threads end, the process id remains.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void* sleeper(void* argument) {
  while (1) pause();
  return argument;
}

static void* executor(void* argument) {
  char id[32];
  snprintf(id, sizeof id, "%d", (int)getpid());
  execl((const char*)argument, "again", id, (char*)NULL);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc > 1) {
    printf("same process: %d\n", atoi(argv[1]) == getpid());
    return 0;
  }
  static char self[4096];
  readlink("/proc/self/exe", self, sizeof self - 1);
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, i < 2 ? sleeper : executor, self);
  pthread_join(threads[0], NULL);
  return 1;
}
