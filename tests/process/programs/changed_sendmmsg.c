// sendmmsg: another thread changes the headers while the first message waits for space. Each header is read
// once, when its message is sent.
#include <sys/socket.h>
#include <sys/uio.h>

#include "tests/process/changed_meanwhile.h"

enum { kPart = 400000, kLast = 5 };

static int pair[2];
static char *first, *second;
static struct iovec parts[2], last[1], other[1];
static struct mmsghdr messages[2];

static void read_part(char letter, size_t wanted) {
  char bytes[10000];
  for (size_t n = 0; n < wanted;) {
    const size_t room = wanted - n < sizeof bytes ? wanted - n : sizeof bytes;
    const ssize_t got = read(pair[1], bytes, room);
    EXPECT(got > 0);
    for (ssize_t i = 0; i < got; ++i) EXPECT(bytes[i] == letter);
    n += (size_t)got;
  }
}

static void change_headers(void) {
  parts[0].iov_len = 0;
  parts[1] = (struct iovec){NULL, 77};
  messages[0].msg_hdr = (struct msghdr){.msg_controllen = 5};
  messages[1].msg_hdr.msg_iov = other;
  read_part('a', kPart);
  read_part('b', kPart);
}

int main(void) {
  struct change change;
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  first = malloc(kPart);
  second = malloc(kPart);
  memset(first, 'a', kPart);
  memset(second, 'b', kPart);
  char end[] = "end", new_end[] = "other";
  parts[0] = (struct iovec){first, kPart};
  parts[1] = (struct iovec){second, kPart};
  last[0] = (struct iovec){end, 3};
  other[0] = (struct iovec){new_end, kLast};
  messages[0].msg_hdr = (struct msghdr){.msg_iov = parts, .msg_iovlen = 2};
  messages[1].msg_hdr = (struct msghdr){.msg_iov = last, .msg_iovlen = 1};
  const pthread_t thread = change_meanwhile(&change, change_headers);
  const int sent = sendmmsg(pair[0], messages, 2, 0);
  printf("sendmmsg: %d, %u and %u\n", sent, messages[0].msg_len, messages[1].msg_len);
  EXPECT(pthread_join(thread, NULL) == 0);
  char bytes[64];
  const ssize_t got = recv(pair[1], bytes, sizeof bytes, MSG_DONTWAIT);
  printf("the message behind it: %.*s\n", (int)got, bytes);

  // Nothing is sent after a message that fits only in part.
  parts[0] = (struct iovec){first, kPart};
  parts[1] = (struct iovec){second, kPart};
  messages[0].msg_hdr = (struct msghdr){.msg_iov = parts, .msg_iovlen = 2};
  const int sent_at_once = sendmmsg(pair[0], messages, 2, MSG_DONTWAIT);
  printf("without waiting: %d, a part of it: %d\n", sent_at_once, messages[0].msg_len > 0 && messages[0].msg_len < 2 * kPart);
  return 0;
}
