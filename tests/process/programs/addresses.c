// Names and addresses: getaddrinfo with all flags that need no server, getnameinfo, getifaddrs, services.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

#include "tests/process/expect.h"

static void look(const char* host, const char* service, int family, int type, int flags) {
  struct addrinfo hints = {.ai_flags = flags, .ai_family = family, .ai_socktype = type}, *list;
  const int error = getaddrinfo(host, service, &hints, &list);
  printf("%s %s:", host == NULL ? "-" : host, service == NULL ? "-" : service);
  if (error != 0) {
    printf(" error %d\n", error);
    return;
  }
  for (struct addrinfo* one = list; one != NULL; one = one->ai_next) {
    char name[64], port[16];
    EXPECT(getnameinfo(one->ai_addr, one->ai_addrlen, name, sizeof name, port, sizeof port,
                       NI_NUMERICHOST | NI_NUMERICSERV) == 0);
    printf(" %s/%s/%d", name, port, one->ai_socktype);
  }
  printf("\n");
  freeaddrinfo(list);
}

int main(void) {
  look("127.0.0.1", "80", AF_UNSPEC, SOCK_STREAM, AI_NUMERICHOST | AI_NUMERICSERV);
  look("::1", "443", AF_UNSPEC, SOCK_STREAM, AI_NUMERICHOST);
  look("10.1.2.3", NULL, AF_INET, SOCK_DGRAM, AI_NUMERICHOST);
  look("10.1.2.3", NULL, AF_INET6, SOCK_STREAM, AI_NUMERICHOST | AI_V4MAPPED);
  look(NULL, "7", AF_INET, SOCK_STREAM, AI_PASSIVE | AI_NUMERICSERV);
  look(NULL, "7", AF_INET, SOCK_STREAM, AI_NUMERICSERV);
  look(NULL, "7", AF_INET6, SOCK_STREAM, AI_PASSIVE | AI_NUMERICSERV);
  look("not-a-number", NULL, AF_INET, SOCK_STREAM, AI_NUMERICHOST);
  look(NULL, NULL, AF_INET, SOCK_STREAM, 0);
  look("127.0.0.1", "no-such-service", AF_INET, SOCK_STREAM, 0);
  look("localhost", "9", AF_INET, SOCK_STREAM, AI_NUMERICSERV);
  struct ifaddrs *all, *one;
  EXPECT(getifaddrs(&all) == 0);
  int loopback = 0;
  for (one = all; one != NULL; one = one->ifa_next) {
    if (one->ifa_addr == NULL || one->ifa_addr->sa_family != AF_INET || strcmp(one->ifa_name, "lo") != 0)
      continue;
    const struct sockaddr_in* const address = (struct sockaddr_in*)one->ifa_addr;
    loopback += address->sin_addr.s_addr == htonl(INADDR_LOOPBACK) && (one->ifa_flags & IFF_LOOPBACK) != 0;
  }
  freeifaddrs(all);
  printf("loopback interfaces: %d, number %d\n", loopback, if_nametoindex("lo") == 1);
  char name[IF_NAMESIZE];
  EXPECT(if_indextoname(1, name) != NULL && strcmp(name, "lo") == 0 && if_nametoindex("nothing0") == 0);
  struct in6_addr six;
  EXPECT(inet_pton(AF_INET6, "fd00::1:2", &six) == 1 && inet_pton(AF_INET, "1.2.3.400", &six) == 0);
  return 0;
}
