// Datagrams between two hosts: `udp_echo` returns datagrams until an empty one arrives; `udp_echo HOST`
// measures.
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

static char bytes[60000];

static void serve(void) {
  const int s = socket(AF_INET6, SOCK_DGRAM, 0);
  struct sockaddr_in6 name = {.sin6_family = AF_INET6, .sin6_port = htons(7)}, from;
  EXPECT(bind(s, (struct sockaddr*)&name, sizeof name) == 0);
  while (1) {
    socklen_t size = sizeof from;
    const ssize_t n = recvfrom(s, bytes, sizeof bytes, 0, (struct sockaddr*)&from, &size);
    if (n <= 0) return;
    EXPECT(sendto(s, bytes, n, 0, (struct sockaddr*)&from, size) == n);
  }
}

int main(int count, char** words) {
  if (count == 1) {
    serve();
    return 0;
  }
  struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *found;
  EXPECT(getaddrinfo(words[1], "7", &hints, &found) == 0);
  const int s = socket(found->ai_family, SOCK_DGRAM, 0);
  EXPECT(connect(s, found->ai_addr, found->ai_addrlen) == 0);
  const int sizes[] = {1000, 9000, 50000};
  for (int i = 0; i < 3; ++i) {
    const int64_t start = now_ns();
    EXPECT(send(s, bytes, sizes[i], 0) == sizes[i] && recv(s, bytes, sizeof bytes, 0) == sizes[i]);
    printf("%ld\n", (long)(now_ns() - start));
  }
  EXPECT(send(s, bytes, 0, 0) == 0);
  return 0;
}
