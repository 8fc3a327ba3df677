// futex(2) on words that are not mapped, and with unusual limits; the state of a process whose first thread sleeps.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/process/expect.h"

static uint32_t words[2];

static long futex(uint32_t* word, int operation, long value, long value2, uint32_t* word2, long value3) {
  const long result = syscall(SYS_futex, word, operation, value, value2, word2, value3);
  return result < 0 ? -errno : result;
}

static char state_of_process(void) {
  FILE* const file = fopen("/proc/self/stat", "r");
  char text[512];
  EXPECT(file != NULL && fgets(text, sizeof text, file) != NULL && fclose(file) == 0);
  return strrchr(text, ')')[2];
}

static void* wake_first(void* limit) {
  while (state_of_process() != 'S') usleep(1000);
  EXPECT(futex(words, FUTEX_WAKE_PRIVATE, (long)limit, 0, NULL, 0) == 1);
  return NULL;
}

int main(void) {
  const size_t page = 4096;
  uint32_t* const gone = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uint32_t* const closed = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(gone != MAP_FAILED && closed != MAP_FAILED && munmap(gone, page) == 0);
  uint32_t* const bad[] = {gone, closed};
  for (int i = 0; i < 2; ++i) {
    EXPECT(futex(bad[i], FUTEX_WAKE, 1, 0, NULL, 0) == -EFAULT);
    EXPECT(futex(bad[i], FUTEX_WAKE_PRIVATE, 1, 0, NULL, 0) == 0);
    EXPECT(futex(words, FUTEX_CMP_REQUEUE, 1, 1, bad[i], 0) == -EFAULT);
  }
  EXPECT(futex(words, FUTEX_CMP_REQUEUE, -1, 1, words + 1, 0) == -EINVAL);
  EXPECT(futex(words, FUTEX_CMP_REQUEUE, 1, -1, words + 1, 0) == -EINVAL);
  EXPECT(futex(words, FUTEX_CMP_REQUEUE, 1, 1, words + 1, 1) == -EAGAIN);
  EXPECT(state_of_process() == 'R');
  for (long limit = 0; limit < 2; ++limit) {
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, wake_first, (void*)limit) == 0);
    EXPECT(futex(words, FUTEX_WAIT_PRIVATE, 0, 0, NULL, 0) == 0 && pthread_join(thread, NULL) == 0);
  }
  printf("futex errors: done\n");
  return 0;
}
