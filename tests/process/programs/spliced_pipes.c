// splice, tee and vmsplice: between pipes, pipes and sockets, pipes and files; short transfers, ends, errors.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static void holds(int fd, const char* text) {
  char found[64] = "";
  const size_t length = strlen(text);
  EXPECT(read(fd, found, length) == (ssize_t)length && memcmp(found, text, length) == 0);
}

static void between_pipes(void) {
  int a[2], b[2];
  EXPECT(pipe(a) == 0 && pipe(b) == 0);
  EXPECT(write(a[1], "abcdef", 6) == 6);
  EXPECT(tee(a[0], b[1], 4, 0) == 4);
  EXPECT(splice(a[0], NULL, b[1], NULL, 2, SPLICE_F_MOVE) == 2);
  holds(b[0], "abcdab");
  EXPECT(splice(a[0], NULL, b[1], NULL, 100, 0) == 4);
  holds(b[0], "cdef");
  EXPECT(splice(a[0], NULL, b[1], NULL, 1, SPLICE_F_NONBLOCK) == -1 && errno == EAGAIN);
  EXPECT(tee(a[0], b[1], 1, SPLICE_F_NONBLOCK) == -1 && errno == EAGAIN);
  EXPECT(fcntl(a[0], F_SETFL, O_NONBLOCK) == 0);
  EXPECT(splice(a[0], NULL, b[1], NULL, 1, 0) == -1 && errno == EAGAIN);
  EXPECT(fcntl(a[0], F_SETFL, 0) == 0);
  EXPECT(close(a[1]) == 0);
  EXPECT(splice(a[0], NULL, b[1], NULL, 1, 0) == 0 && tee(a[0], b[1], 1, 0) == 0);
  EXPECT(close(a[0]) == 0 && close(b[0]) == 0 && close(b[1]) == 0);
}

static void errors(void) {
  int a[2], b[2];
  EXPECT(pipe(a) == 0 && pipe(b) == 0);
  const int zero = open("/dev/zero", O_RDONLY);
  off_t at = 0;
  EXPECT(splice(a[0], NULL, b[1], NULL, 0, 0x1000) == 0);
  EXPECT(splice(a[0], NULL, b[1], NULL, 1, 0x1000) == -1 && errno == EINVAL);
  EXPECT(splice(a[0], &at, b[1], NULL, 1, 0) == -1 && errno == ESPIPE);
  EXPECT(splice(a[0], NULL, b[1], &at, 1, 0) == -1 && errno == ESPIPE);
  EXPECT(splice(a[1], NULL, b[1], NULL, 1, 0) == -1 && errno == EBADF);
  EXPECT(splice(a[0], NULL, b[0], NULL, 1, 0) == -1 && errno == EBADF);
  EXPECT(splice(a[0], NULL, a[1], NULL, 1, 0) == -1 && errno == EINVAL);
  EXPECT(splice(999, NULL, a[1], NULL, 1, 0) == -1 && errno == EBADF);
  EXPECT(splice(a[0], NULL, 999, NULL, 1, 0) == -1 && errno == EBADF);
  EXPECT(tee(a[0], a[1], 1, 0) == -1 && errno == EINVAL);
  EXPECT(tee(zero, a[1], 1, 0) == -1 && errno == EINVAL);
  EXPECT(tee(a[0], b[1], 0, 0) == 0);
  struct iovec part = {&at, 1};
  EXPECT(vmsplice(zero, &part, 1, 0) == -1 && errno == EBADF);
  EXPECT(vmsplice(a[1], &part, 1, 0x1000) == -1 && errno == EINVAL);
  part.iov_base = (void*)8;
  EXPECT(vmsplice(a[1], &part, 1, 0) == -1 && errno == EFAULT);
  EXPECT(signal(SIGPIPE, SIG_IGN) != SIG_ERR && write(a[1], "x", 1) == 1 && close(b[0]) == 0);
  EXPECT(splice(a[0], NULL, b[1], NULL, 1, 0) == -1 && errno == EPIPE);
  holds(a[0], "x");  // nothing is lost
  EXPECT(close(a[0]) == 0 && close(a[1]) == 0 && close(b[1]) == 0 && close(zero) == 0);
}

static void of_memory(void) {
  int a[2];
  EXPECT(pipe(a) == 0);
  char first[] = "one ", second[] = "two";
  struct iovec parts[2] = {{first, 4}, {second, 3}};
  EXPECT(vmsplice(a[1], parts, 2, 0) == 7);
  holds(a[0], "one two");
  EXPECT(write(a[1], "ABCDEFG", 7) == 7);
  EXPECT(vmsplice(a[0], parts, 2, 0) == 7 && memcmp(first, "ABCD", 4) == 0 && memcmp(second, "EFG", 3) == 0);
  static char much[1 << 17];
  struct iovec all = {much, sizeof much};
  const ssize_t room = vmsplice(a[1], &all, 1, 0);  // as much as there is room for, without waiting for more
  EXPECT(room > 0 && room <= 65536);
  EXPECT(vmsplice(a[1], &all, 1, SPLICE_F_NONBLOCK) == -1 && errno == EAGAIN);
  EXPECT(close(a[0]) == 0 && close(a[1]) == 0);
}

static void with_files(void) {
  int a[2];
  EXPECT(pipe(a) == 0);
  char name[] = "/tmp/spliced-XXXXXX";
  const int file = mkstemp(name);
  EXPECT(file >= 0 && unlink(name) == 0);
  EXPECT(write(a[1], "0123456789", 10) == 10);
  EXPECT(splice(a[0], NULL, file, NULL, 6, 0) == 6);
  off_t at = 8;
  EXPECT(splice(a[0], NULL, file, &at, 100, 0) == 4 && at == 12);
  EXPECT(lseek(file, 0, SEEK_CUR) == 6);
  char found[16] = "";
  EXPECT(pread(file, found, sizeof found, 0) == 12 && memcmp(found, "012345\0\0006789", 12) == 0);
  EXPECT(lseek(file, 1, SEEK_SET) == 1);
  EXPECT(splice(file, NULL, a[1], NULL, 3, 0) == 3 && lseek(file, 0, SEEK_CUR) == 4);
  holds(a[0], "123");
  at = 10;
  EXPECT(splice(file, &at, a[1], NULL, 100, 0) == 2 && at == 12);
  holds(a[0], "89");
  EXPECT(splice(file, &at, a[1], NULL, 100, 0) == 0);
  EXPECT(splice(file, NULL, file, NULL, 1, 0) == -1 && errno == EINVAL);
  EXPECT(write(a[1], "gone", 4) == 4);
  const int null = open("/dev/null", O_WRONLY), zero = open("/dev/zero", O_RDONLY), folder = open("/tmp", O_RDONLY);
  EXPECT(splice(a[0], NULL, null, NULL, 4, 0) == 4 && splice(zero, NULL, a[1], NULL, 2, 0) == 2);
  EXPECT(read(a[0], found, 2) == 2 && found[0] == 0 && found[1] == 0);
  EXPECT(splice(a[0], NULL, folder, NULL, 1, 0) == -1 && errno == EBADF);
  EXPECT(splice(a[0], NULL, zero, NULL, 1, 0) == -1 && errno == EBADF);
  EXPECT(close(null) == 0 && close(zero) == 0 && close(folder) == 0);
  static char pages[65536];
  EXPECT(write(a[1], pages, sizeof pages) == sizeof pages && lseek(file, 0, SEEK_SET) == 0);
  EXPECT(splice(a[0], NULL, file, NULL, sizeof pages, 0) == sizeof pages);
  // No more than there is room for.
  EXPECT(ftruncate(file, 1 << 20) == 0 && lseek(file, 0, SEEK_SET) == 0);
  const ssize_t room = splice(file, NULL, a[1], NULL, 1 << 20, 0);
  EXPECT(room > 0 && room <= 65536 && lseek(file, 0, SEEK_CUR) == room);
  EXPECT(fcntl(a[0], F_GETPIPE_SZ) == 65536);
  while (splice(file, NULL, a[1], NULL, 1 << 20, SPLICE_F_NONBLOCK) > 0) continue;
  EXPECT(errno == EAGAIN);
  EXPECT(close(a[0]) == 0 && close(a[1]) == 0 && close(file) == 0);
}

enum { kMuch = 3 << 20 };

static unsigned char byte_at(long at) { return (unsigned char)(at * 7 + at / 251); }

static void* sends(void* socket) {
  static unsigned char bytes[kMuch];
  for (long i = 0; i < kMuch; ++i) bytes[i] = byte_at(i);
  long done = 0;
  while (done < kMuch) {
    const ssize_t n = write(*(int*)socket, bytes + done, kMuch - done);
    EXPECT(n > 0);
    done += n;
  }
  EXPECT(shutdown(*(int*)socket, SHUT_WR) == 0);
  return NULL;
}

static void* forwards(void* sockets) {
  int a[2];
  EXPECT(pipe(a) == 0);
  ssize_t n;
  while ((n = splice(((int*)sockets)[0], NULL, a[1], NULL, 1 << 20, SPLICE_F_MOVE)) > 0) {
    while (n > 0) {
      const ssize_t sent = splice(a[0], NULL, ((int*)sockets)[1], NULL, n, SPLICE_F_MOVE | SPLICE_F_MORE);
      EXPECT(sent > 0);
      n -= sent;
    }
  }
  EXPECT(n == 0 && shutdown(((int*)sockets)[1], SHUT_WR) == 0);
  EXPECT(close(a[0]) == 0 && close(a[1]) == 0);
  return NULL;
}

static void unix_pair(int pair[2]) { EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0); }

static void tcp_pair(int pair[2]) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof name;
  EXPECT(listener >= 0 && bind(listener, (struct sockaddr*)&name, length) == 0 && listen(listener, 1) == 0);
  EXPECT(getsockname(listener, (struct sockaddr*)&name, &length) == 0);
  pair[0] = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(pair[0] >= 0 && connect(pair[0], (struct sockaddr*)&name, length) == 0);
  pair[1] = accept(listener, NULL, NULL);
  EXPECT(pair[1] >= 0 && close(listener) == 0);
}

// A proxy: socket to pipe to socket, with a slow reader.
static void through_a_proxy(void (*make_pair)(int pair[2])) {
  int near[2], far[2];
  make_pair(near);
  make_pair(far);
  int ends[2] = {near[1], far[0]};
  pthread_t sender, proxy;
  EXPECT(pthread_create(&sender, NULL, sends, &near[0]) == 0 && pthread_create(&proxy, NULL, forwards, ends) == 0);
  long got = 0;
  static unsigned char bytes[100000];
  ssize_t n;
  while ((n = read(far[1], bytes, sizeof bytes)) > 0) {
    for (ssize_t i = 0; i < n; ++i) EXPECT(bytes[i] == byte_at(got + i));
    got += n;
    if (got % 5 == 0) sleep_ms(1);
  }
  EXPECT(n == 0 && got == kMuch && pthread_join(sender, NULL) == 0 && pthread_join(proxy, NULL) == 0);
  int a[2];
  EXPECT(pipe(a) == 0);
  int pair[2];
  make_pair(pair);
  EXPECT(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0);
  EXPECT(splice(pair[0], NULL, a[1], NULL, 10, 0) == -1 && errno == EAGAIN);
  EXPECT(write(a[1], "x", 1) == 1 && splice(a[0], NULL, pair[0], NULL, 10, 0) == 1);
  holds(pair[1], "x");
  for (int i = 0; i < 2; ++i) EXPECT(close(near[i]) == 0 && close(far[i]) == 0 && close(a[i]) == 0 && close(pair[i]) == 0);
}

int main(void) {
  between_pipes();
  errors();
  of_memory();
  with_files();
  through_a_proxy(unix_pair);
  through_a_proxy(tcp_pair);
  printf("spliced pipes: ok\n");
  return 0;
}
