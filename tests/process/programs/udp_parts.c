// One datagram sent in parts: MSG_MORE, UDP_CORK, a part that makes it too long.
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int from, to;
static struct sockaddr_in name, nobody;

static void nothing_arrives(void) {
  char byte;
  sleep_ms(1);
  EXPECT(recv(to, &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
}

static void arrives(const char* text) {
  char bytes[64];
  const ssize_t n = recv(to, bytes, sizeof bytes, 0);
  EXPECT(n == (ssize_t)strlen(text) && memcmp(bytes, text, n) == 0);
}

int main(void) {
  from = socket(AF_INET, SOCK_DGRAM, 0);
  to = socket(AF_INET, SOCK_DGRAM, 0);
  name = (struct sockaddr_in){AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {0}};
  nobody = name;
  nobody.sin_port = htons(9);
  socklen_t size = sizeof name;
  EXPECT(bind(to, (struct sockaddr*)&name, size) == 0 &&
         getsockname(to, (struct sockaddr*)&name, &size) == 0);

  // Further parts go to the destination of the first.
  EXPECT(sendto(from, "first ", 6, MSG_MORE, (struct sockaddr*)&name, size) == 6);
  nothing_arrives();
  EXPECT(sendto(from, "second ", 7, MSG_MORE, (struct sockaddr*)&nobody, size) == 7);
  nothing_arrives();
  struct iovec part = {"third", 5};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  EXPECT(sendmsg(from, &message, 0) == 5);
  arrives("first second third");

  // An empty part ends the datagram.
  EXPECT(connect(from, (struct sockaddr*)&name, size) == 0);
  EXPECT(send(from, "begin", 5, MSG_MORE) == 5 && send(from, NULL, 0, 0) == 0);
  arrives("begin");

  int value = 1;
  EXPECT(setsockopt(from, IPPROTO_UDP, UDP_CORK, &value, sizeof value) == 0);
  EXPECT(write(from, "a", 1) == 1 && send(from, "b", 1, 0) == 1);
  nothing_arrives();
  EXPECT(getsockopt(from, IPPROTO_UDP, UDP_CORK, &value, &size) == 0 && value == 1);
  value = 0;
  EXPECT(setsockopt(from, IPPROTO_UDP, UDP_CORK, &value, sizeof value) == 0);
  arrives("ab");

  // The parts so far are lost.
  static char many[60000];
  EXPECT(send(from, many, sizeof many, MSG_MORE) == sizeof many);
  EXPECT(send(from, many, sizeof many, MSG_MORE) == -1 && errno == EMSGSIZE);
  EXPECT(send(from, "whole", 5, 0) == 5);
  arrives("whole");
  return 0;
}
