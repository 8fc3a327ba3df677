// A server of several clients, each a thread, with poll; half-closed streams; a megabyte in each direction.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

enum { kClients = 8, kBytes = 100000 };
static struct sockaddr_in name = {AF_INET, 0, {0}, {0}};

static void* client(void* number) {
  const int id = (int)(intptr_t)number, s = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(connect(s, (struct sockaddr*)&name, sizeof name) == 0);
  char* bytes = malloc(kBytes);
  memset(bytes, 'a' + id, kBytes);
  EXPECT(write(s, bytes, kBytes) == kBytes && shutdown(s, SHUT_WR) == 0);
  long sum = 0;
  ssize_t n;
  while ((n = read(s, bytes, kBytes)) > 0) sum += n;
  EXPECT(n == 0 && sum == kBytes && close(s) == 0);
  free(bytes);
  return NULL;
}

int main(void) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  EXPECT(bind(listener, (struct sockaddr*)&name, sizeof name) == 0 && listen(listener, kClients) == 0);
  EXPECT(getsockname(listener, (struct sockaddr*)&name, &size) == 0);
  pthread_t threads[kClients];
  for (intptr_t i = 0; i < kClients; ++i) EXPECT(pthread_create(&threads[i], NULL, client, (void*)i) == 0);
  struct pollfd set[kClients + 1] = {{listener, POLLIN, 0}};
  char* buffers[kClients] = {0};
  int filled[kClients] = {0}, count = 1, open = kClients;
  while (open > 0) {
    EXPECT(poll(set, count, -1) > 0);
    if (set[0].revents != 0 && count <= kClients) {
      buffers[count - 1] = malloc(kBytes + 1);
      set[count++] = (struct pollfd){accept(listener, NULL, NULL), POLLIN, 0};
    }
    for (int i = 1; i < count; ++i) {
      if (set[i].fd < 0 || set[i].revents == 0) continue;
      const ssize_t n = read(set[i].fd, buffers[i - 1] + filled[i - 1], kBytes + 1 - filled[i - 1]);
      EXPECT(n >= 0);
      filled[i - 1] += n;
      if (n > 0) continue;
      EXPECT(filled[i - 1] == kBytes && write(set[i].fd, buffers[i - 1], kBytes) == kBytes &&
             close(set[i].fd) == 0);
      set[i].fd = -1;
      --open;
    }
  }
  for (int i = 0; i < kClients; ++i) EXPECT(pthread_join(threads[i], NULL) == 0);
  printf("%d clients served\n", kClients);
  return 0;
}
