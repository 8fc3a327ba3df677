// Handlers at exit: atexit and on_exit in reverse order, destructors, none with _exit; a main thread that
// ends first.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static void first(void) { printf(" first"); }
static void second(void) { printf(" second"); }
static void told(int code, void* what) { printf(" %s(%d)", (const char*)what, code); }
static void quick(void) { (void)!write(1, " quick", 6); }
static int destructor_speaks;
__attribute__((destructor)) static void at_the_end(void) {
  if (destructor_speaks) printf(" destructor\n");
}

static void* outlive(void* argument) {
  sleep_ms(30);
  printf(" other thread");
  exit((int)(intptr_t)argument);
}

static int status_of(const char* how) {
  printf("%s:", how);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    atexit(first);
    atexit(second);
    on_exit(told, "told");
    at_quick_exit(quick);
    destructor_speaks = 1;
    if (strcmp(how, "_exit") == 0) _exit(4);
    if (strcmp(how, "quick_exit") == 0) quick_exit(5);
    if (strcmp(how, "thread") == 0) {
      pthread_t thread;
      pthread_create(&thread, NULL, outlive, (void*)6);
      pthread_exit(NULL);
    }
    exit(7);
  }
  int status;
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

int main(void) {
  printf("ended with %d\n", status_of("exit"));
  printf(" ended with %d\n", status_of("_exit"));
  printf(" ended with %d\n", status_of("quick_exit"));
  printf("ended with %d\n", status_of("thread"));
  return 0;
}
