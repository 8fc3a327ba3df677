// Sockets in /proc/net/tcp, udp, icmp and unix: their lines, found by inode number, and headers.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/process/expect.h"

static unsigned port_of(int fd, int peer) {
  struct sockaddr_in6 name;
  socklen_t size = sizeof name;
  memset(&name, 0, sizeof name);
  if ((peer ? getpeername : getsockname)(fd, (struct sockaddr*)&name, &size) != 0) return 0;
  return ntohs(name.sin6_port);  // at the same place as sin_port
}

// Prints the socket's line without its number, ports and inode number, which differ by machine.
static void show(const char* table, int fd) {
  char path[64], line[512];
  struct stat status;
  EXPECT(fstat(fd, &status) == 0);
  snprintf(path, sizeof path, "/proc/net/%s", table);
  FILE* const file = fopen(path, "r");
  EXPECT(file != NULL && fgets(line, sizeof line, file) != NULL);
  int found = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    char local[40], remote[40];
    unsigned local_port, remote_port, state, sent, received, user;
    unsigned long inode;
    EXPECT(sscanf(line, "%*d: %39[0-9A-F]:%x %39[0-9A-F]:%x %x %x:%x %*x:%*x %*x %u %*d %lu", local, &local_port, remote,
                  &remote_port, &state, &sent, &received, &user, &inode) == 9);
    if (inode != status.st_ino) continue;
    ++found;
    const int right = local_port == port_of(fd, 0) && remote_port == port_of(fd, 1) && user == geteuid();
    printf("%s: %s %s state %02x, queues %u %u, %zu characters%s\n", table, local, remote, state, sent, received,
           strncmp(table, "tcp6", 4) == 0 || strncmp(table, "udp6", 4) == 0 ? (size_t)0 : strlen(line), right ? "" : ", WRONG");
  }
  if (found == 0) printf("%s: not listed\n", table);
  EXPECT(fclose(file) == 0);
}

static void show_unix(int fd) {
  char line[512];
  struct stat status;
  EXPECT(fstat(fd, &status) == 0);
  FILE* const file = fopen("/proc/net/unix", "r");
  EXPECT(file != NULL && fgets(line, sizeof line, file) != NULL);
  while (fgets(line, sizeof line, file) != NULL) {
    unsigned flags, type, state;
    unsigned long inode;
    char path[120] = "";
    EXPECT(sscanf(line, "%*x: %*x %*x %x %x %x %lu %119s", &flags, &type, &state, &inode, path) >= 4);
    if (inode == status.st_ino) printf("unix: flags %x, type %u, state %u, path \"%s\"\n", flags, type, state, path);
  }
  EXPECT(fclose(file) == 0);
}

static void show_header(const char* path) {
  char line[512];
  FILE* const file = fopen(path, "r");
  EXPECT(file != NULL && fgets(line, sizeof line, file) != NULL && fclose(file) == 0);
  printf("%s", line);
}

int main(void) {
  struct sockaddr_in any = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {0}};
  struct sockaddr_in6 any6 = {.sin6_family = AF_INET6};
  socklen_t size = sizeof any, size6 = sizeof any6;
  const int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
  show("tcp", client);
  EXPECT(bind(server, (struct sockaddr*)&any, size) == 0);
  EXPECT(listen(server, 3) == 0 && getsockname(server, (struct sockaddr*)&any, &size) == 0);
  show("tcp", server);
  EXPECT(connect(client, (struct sockaddr*)&any, sizeof any) == 0);
  const int accepted = accept(server, NULL, NULL);
  EXPECT(accepted >= 0 && send(client, "hello", 5, 0) == 5);
  sleep_ms(5);
  show("tcp", client);
  show("tcp", accepted);
  EXPECT(shutdown(client, SHUT_WR) == 0);
  sleep_ms(300);  // a FIN is acknowledged late
  show("tcp", client);
  show("tcp", accepted);
  const int server6 = socket(AF_INET6, SOCK_STREAM, 0);
  EXPECT(bind(server6, (struct sockaddr*)&any6, size6) == 0 && listen(server6, 3) == 0);
  show("tcp6", server6);
  const int udp = socket(AF_INET, SOCK_DGRAM, 0), udp6 = socket(AF_INET6, SOCK_DGRAM, 0);
  show("udp", udp);
  any.sin_port = 0;
  EXPECT(bind(udp, (struct sockaddr*)&any, sizeof any) == 0 && getsockname(udp, (struct sockaddr*)&any, &size) == 0);
  show("udp", udp);
  any6.sin6_addr = in6addr_loopback;
  any6.sin6_port = htons(9);
  EXPECT(connect(udp6, (struct sockaddr*)&any6, size6) == 0);
  show("udp6", udp6);
  const int named = socket(AF_UNIX, SOCK_STREAM, 0), packets = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  const struct sockaddr_un abstract = {AF_UNIX, "\0listed sockets"};
  int pair[2];
  EXPECT(bind(named, (const struct sockaddr*)&abstract, offsetof(struct sockaddr_un, sun_path) + 8) == 0);
  EXPECT(listen(named, 1) == 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
  show_unix(named);
  show_unix(packets);
  show_unix(pair[1]);
  static const char* const kTables[] = {"tcp", "tcp6", "udp", "udp6", "icmp", "unix"};
  for (int i = 0; i < 6; ++i) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/net/%s", kTables[i]);
    show_header(path);
  }
  return 0;
}
