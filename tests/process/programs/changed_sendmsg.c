// sendmsg and writev: another thread changes headers and vectors while a part of the bytes waits for room, and
// closes a descriptor that is to be sent.
#include <sys/socket.h>
#include <sys/uio.h>

#include "tests/process/changed_meanwhile.h"
#include "tests/process/messages_with_descriptors.h"

enum { kPart = 400000 };

static int pair[2], ends[2];
static char *first, *second;
static struct iovec parts[2];
static struct mmsghdr messages[2];

// Number of received bytes, which must be those of both parts in turn.
static size_t read_all(int fd, size_t wanted) {
  char bytes[10000];
  size_t n = 0;
  while (n < wanted) {
    const ssize_t got = read(fd, bytes, sizeof bytes);
    if (got <= 0) break;
    for (ssize_t i = 0; i < got; ++i, ++n) EXPECT(bytes[i] == (n / kPart % 2 == 0 ? 'a' : 'b'));
  }
  return n;
}

static void change_headers(void) {
  parts[0].iov_len = 0;
  parts[1] = (struct iovec){NULL, 77};
  for (int i = 0; i < 2; ++i) messages[i].msg_hdr = (struct msghdr){.msg_controllen = 5};
}

static void change_message(void) {
  change_headers();
  EXPECT(read_all(pair[1], 2 * kPart) == 2 * kPart);
}

static void change_vector(void) {
  change_headers();
  EXPECT(read_all(ends[0], 2 * kPart) == 2 * kPart);
}

static void close_and_drain(void) {
  EXPECT(close(ends[1]) == 0);
  char bytes[64];
  while (recv(pair[1], bytes, sizeof bytes, MSG_DONTWAIT | MSG_PEEK) > 0) {
    if (bytes[0] == '!') break;
    EXPECT(recv(pair[1], bytes, sizeof bytes, MSG_DONTWAIT) > 0);
  }
}

static void prepare(void) {
  parts[0] = (struct iovec){first, kPart};
  parts[1] = (struct iovec){second, kPart};
  messages[0].msg_hdr = (struct msghdr){.msg_iov = parts, .msg_iovlen = 2};
}

int main(void) {
  struct change change;
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(ends) == 0);
  first = malloc(kPart);
  second = malloc(kPart);
  memset(first, 'a', kPart);
  memset(second, 'b', kPart);
  prepare();
  pthread_t thread = change_meanwhile(&change, change_message);
  printf("sendmsg: %zd\n", sendmsg(pair[0], &messages[0].msg_hdr, 0));
  EXPECT(pthread_join(thread, NULL) == 0);
  prepare();
  thread = change_meanwhile(&change, change_vector);
  printf("writev: %zd\n", writev(ends[1], parts, 2));
  EXPECT(pthread_join(thread, NULL) == 0 && close(pair[0]) == 0 && close(pair[1]) == 0);

  EXPECT(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
  while (send(pair[0], second, 20000, MSG_DONTWAIT) == 20000) continue;
  EXPECT(errno == EAGAIN);
  thread = change_meanwhile(&change, close_and_drain);
  const int sent = (int)send_descriptors(pair[0], "!", &ends[1], 1);
  printf("sendmsg of a descriptor: %d\n", sent);
  EXPECT(pthread_join(thread, NULL) == 0);
  struct received got;
  do {
    got = receive_descriptors(pair[1], 1, 1, 0);
  } while (got.text[0] == 'b');
  EXPECT(got.count == 1 && write(got.fds[0], "y", 1) == 1 && read(ends[0], first, 1) == 1);
  printf("it was closed meanwhile, and came\n");
  return 0;
}
