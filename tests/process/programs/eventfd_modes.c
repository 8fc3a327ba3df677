// eventfd as counter and as semaphore, blocking and non-blocking.
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int shared;
static void* add_later(void* unused) {
  (void)unused;
  sleep_ms(10);
  EXPECT(eventfd_write(shared, 5) == 0);
  return NULL;
}

int main(void) {
  uint64_t value = 0;
  const int counter = eventfd(3, EFD_NONBLOCK);
  EXPECT(read(counter, &value, 8) == 8 && value == 3);
  EXPECT(read(counter, &value, 8) == -1 && errno == EAGAIN);
  EXPECT(read(counter, &value, 7) == -1 && errno == EINVAL);
  value = 0xfffffffffffffffe;
  EXPECT(write(counter, &value, 8) == 8);
  struct pollfd ready = {counter, POLLIN | POLLOUT, 0};
  EXPECT(poll(&ready, 1, 0) == 1 && ready.revents == POLLIN);
  value = 1;
  EXPECT(write(counter, &value, 8) == -1 && errno == EAGAIN);
  value = 0xffffffffffffffff;
  EXPECT(write(counter, &value, 8) == -1 && errno == EINVAL);
  EXPECT(eventfd_read(counter, &value) == 0 && value == 0xfffffffffffffffe);

  const int semaphore = eventfd(2, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
  EXPECT(eventfd_read(semaphore, &value) == 0 && value == 1 && eventfd_read(semaphore, &value) == 0 &&
         value == 1);
  EXPECT(eventfd_read(semaphore, &value) == -1 && errno == EAGAIN);
  EXPECT(eventfd(0, 0x40000000) == -1 && errno == EINVAL);

  shared = eventfd(0, 0);
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, add_later, NULL) == 0);
  EXPECT(eventfd_read(shared, &value) == 0 && value == 5 && pthread_join(thread, NULL) == 0);
  printf("eventfd: done\n");
  return 0;
}
