// A pipe holds 64 KiB in pages; small writes are atomic.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "tests/process/expect.h"

static long fill(size_t size) {
  static char bytes[100000];
  int ends[2];
  EXPECT(pipe2(ends, O_NONBLOCK) == 0);
  long total = 0, n;
  while ((n = write(ends[1], bytes, size)) > 0) total += n;
  EXPECT(n == -1 && errno == EAGAIN);
  struct pollfd ready = {ends[1], POLLOUT, 0};
  EXPECT(poll(&ready, 1, 0) == 0);
  long back = 0;
  while ((n = read(ends[0], bytes, sizeof bytes)) > 0) back += n;
  EXPECT(n == -1 && errno == EAGAIN && back == total);
  EXPECT(poll(&ready, 1, 0) == 1);
  close(ends[0]);
  close(ends[1]);
  return total;
}

int main(void) {
  const size_t sizes[] = {7, 100, 1000, 3000, 4095, 4096, 4097, 5000, 10000, 65536, 100000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) printf("%zu: %ld\n", sizes[i], fill(sizes[i]));
  int ends[2];
  EXPECT(pipe(ends) == 0 && fcntl(ends[0], F_GETPIPE_SZ) == 65536);
  EXPECT(fcntl(ends[1], F_SETPIPE_SZ, 10000) == 16384 && fcntl(ends[0], F_GETPIPE_SZ) == 16384);
  return 0;
}
