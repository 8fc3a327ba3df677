// Only the thread that forks is in the child; handlers of pthread_atfork run; the child can create threads.
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void prepare(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }

static void* say(void* argument) {
  pthread_mutex_lock(&mutex);
  printf("%s\n", (const char*)argument);
  fflush(stdout);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void* forker(void* argument) {
  const pid_t child = fork();
  if (child == 0) {
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i) {
      pthread_create(&threads[i], NULL, say, "a thread of the copy");
      pthread_join(threads[i], NULL);
    }
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  printf("copy ended with %d\n", WEXITSTATUS(status));
  return argument;
}

int main(void) {
  pthread_atfork(prepare, unlock, unlock);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    pthread_create(&threads[i], NULL, forker, NULL);
    pthread_join(threads[i], NULL);
  }
  return 0;
}
