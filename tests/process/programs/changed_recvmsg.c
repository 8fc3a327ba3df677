// recvmsg and recvmmsg: another thread changes headers and vectors while the call waits for a message.
#include <sys/socket.h>

#include "tests/process/changed_meanwhile.h"

static int pair[2];
static char other[16];
static struct iovec other_part = {other, 8}, parts[2];
static struct mmsghdr messages[2];

static void change_headers(void) {
  for (int i = 0; i < 2; ++i) {
    messages[i].msg_hdr = (struct msghdr){.msg_iov = &other_part, .msg_iovlen = 1, .msg_flags = 0x5555};
    parts[i] = (struct iovec){other + 8, 4};
  }
  EXPECT(send(pair[1], "01234567", 8, 0) == 8);
}

static void prepare(char* first, char* second) {
  parts[0] = (struct iovec){first, 8};
  parts[1] = (struct iovec){second, 8};
  for (int i = 0; i < 2; ++i) {
    messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &parts[i], .msg_iovlen = 1, .msg_flags = 0x7777}};
  }
}

int main(void) {
  EXPECT(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
  struct change change;
  char first[9] = "", second[9] = "";
  prepare(first, second);
  pthread_t thread = change_meanwhile(&change, change_headers);
  printf("recvmsg: %zd ", recvmsg(pair[0], &messages[0].msg_hdr, 0));
  EXPECT(pthread_join(thread, NULL) == 0);
  printf("\"%s\", elsewhere \"%s\", flags %#x, vector %s\n", first, other, messages[0].msg_hdr.msg_flags,
         messages[0].msg_hdr.msg_iov == &other_part ? "as changed" : "put back");

  memset(first, 0, sizeof first);
  prepare(first, second);
  EXPECT(send(pair[1], "abcdefgh", 8, 0) == 8);
  thread = change_meanwhile(&change, change_headers);
  printf("recvmmsg: %d ", recvmmsg(pair[0], messages, 2, 0, NULL));
  EXPECT(pthread_join(thread, NULL) == 0);
  printf("\"%s\" \"%s\", elsewhere \"%s\", lengths %u %u, flags %#x, vector %s\n", first, second, other, messages[0].msg_len,
         messages[1].msg_len, messages[1].msg_hdr.msg_flags,
         messages[1].msg_hdr.msg_iov == &other_part ? "as changed" : "put back");
  return 0;
}
