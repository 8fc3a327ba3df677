// sendmmsg and recvmmsg, sendmsg with several parts, datagrams lost because no socket receives them.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

int main(void) {
  const int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in name = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {0}};
  socklen_t size = sizeof name;
  EXPECT(bind(a, (struct sockaddr*)&name, sizeof name) == 0 &&
         getsockname(a, (struct sockaddr*)&name, &size) == 0);
  EXPECT(connect(b, (struct sockaddr*)&name, sizeof name) == 0);
  struct iovec parts[6];
  struct mmsghdr messages[3] = {0};
  char texts[3][2][4] = {{"ab", "cd"}, {"ef", "gh"}, {"ij", "kl"}};
  for (int i = 0; i < 3; ++i) {
    parts[2 * i] = (struct iovec){texts[i][0], 2};
    parts[2 * i + 1] = (struct iovec){texts[i][1], 2};
    messages[i].msg_hdr.msg_iov = parts + 2 * i;
    messages[i].msg_hdr.msg_iovlen = 2;
  }
  EXPECT(sendmmsg(b, messages, 3, 0) == 3 && messages[2].msg_len == 4);
  struct sockaddr_in from[5];
  struct mmsghdr got[5] = {0};
  char bytes[5][8] = {{0}};
  struct iovec rooms[5];
  for (int i = 0; i < 5; ++i) {
    rooms[i] = (struct iovec){bytes[i], i == 1 ? 3 : 8};
    got[i].msg_hdr = (struct msghdr){
        .msg_name = &from[i], .msg_namelen = sizeof from[i], .msg_iov = &rooms[i], .msg_iovlen = 1};
  }
  sleep_ms(5);
  const int n = recvmmsg(a, got, 5, MSG_WAITFORONE, NULL);
  printf("%d messages:", n);
  for (int i = 0; i < n; ++i)
    printf(" %s (%u, flags %x)", bytes[i], got[i].msg_len, got[i].msg_hdr.msg_flags);
  printf("\n");
  EXPECT(from[0].sin_family == AF_INET && from[0].sin_addr.s_addr == htonl(INADDR_LOOPBACK));
  printf("udp messages: done\n");
  return 0;
}
