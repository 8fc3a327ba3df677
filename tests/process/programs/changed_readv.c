// readv: another thread changes the vector, and then unmaps it, while the call waits for bytes.
#include <sys/mman.h>
#include <sys/uio.h>

#include "tests/process/changed_meanwhile.h"

static int ends[2];
static struct iovec* parts;
static char other[16];

static void send_bytes(void) { EXPECT(write(ends[1], "01234567", 8) == 8); }

static void change_vector(void) {
  parts[0].iov_base = other;
  parts[1] = (struct iovec){other + 8, 0};
  send_bytes();
}

static void unmap_vector(void) {
  EXPECT(munmap(parts, 4096) == 0);
  send_bytes();
}

static void read_vector(const char* what, void (*function)(void)) {
  char first[5] = "", second[5] = "";
  parts[0] = (struct iovec){first, 4};
  parts[1] = (struct iovec){second, 4};
  struct change change;
  const pthread_t thread = change_meanwhile(&change, function);
  const ssize_t n = readv(ends[0], parts, 2);
  const int error = n < 0 ? errno : 0;
  EXPECT(pthread_join(thread, NULL) == 0);
  printf("%s: %zd %s, \"%s\" \"%s\", elsewhere \"%s\"\n", what, n, strerrorname_np(error), first, second, other);
}

int main(void) {
  EXPECT(pipe(ends) == 0);
  parts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(parts != MAP_FAILED);
  read_vector("changed", change_vector);
  read_vector("unmapped", unmap_vector);
  return 0;
}
