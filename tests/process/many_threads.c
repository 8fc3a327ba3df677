// Runs as many threads at once as the first argument says, each with a call and a word of its own.
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/process/expect.h"

static pthread_barrier_t all_there;
static __thread int own;

static void* live(void* number) {
  own = *(int*)number;
  EXPECT(syscall(SYS_gettid) != getpid());
  pthread_barrier_wait(&all_there);
  EXPECT(own == *(int*)number);
  return number;
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 2000;
  pthread_t* const threads = malloc(count * sizeof *threads);
  int* const numbers = malloc(count * sizeof *numbers);
  pthread_attr_t small;
  EXPECT(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 64 << 10) == 0);
  EXPECT(pthread_barrier_init(&all_there, NULL, count + 1) == 0);
  for (int i = 0; i < count; ++i) {
    numbers[i] = i;
    errno = pthread_create(&threads[i], &small, live, &numbers[i]);
    EXPECT(errno == 0);
  }
  pthread_barrier_wait(&all_there);
  for (int i = 0; i < count; ++i) {
    void* end;
    EXPECT(pthread_join(threads[i], &end) == 0 && end == &numbers[i]);
  }
  printf("%d threads\n", count);
  return 0;
}
