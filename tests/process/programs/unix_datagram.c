// Datagrams by name: sender addresses, full queues, names assigned by the kernel.
#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/process/expect.h"

static struct sockaddr_un named(const char* text) {
  struct sockaddr_un name = {AF_UNIX, ""};
  strcpy(name.sun_path + 1, text);
  return name;
}
static socklen_t length_of(const struct sockaddr_un* name) {
  return offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name->sun_path + 1);
}

static void* drain(void* fd) {
  char byte;
  sleep_ms(20);
  for (int i = 0; i < 20; ++i) EXPECT(recv((int)(intptr_t)fd, &byte, 1, 0) == 1 && byte == i);
  return NULL;
}

int main(void) {
  const int a = socket(AF_UNIX, SOCK_DGRAM, 0), b = socket(AF_UNIX, SOCK_DGRAM, 0);
  struct sockaddr_un an = named("one end"), from;
  EXPECT(bind(a, (struct sockaddr*)&an, length_of(&an)) == 0);
  EXPECT(send(b, "x", 1, 0) == -1 && errno == ENOTCONN);
  EXPECT(sendto(b, "hello", 5, 0, (struct sockaddr*)&an, length_of(&an)) == 5);
  char bytes[16];
  socklen_t size = sizeof from;
  EXPECT(recvfrom(a, bytes, sizeof bytes, 0, (struct sockaddr*)&from, &size) == 5);
  printf("from an unnamed one: %u\n", size);
  const sa_family_t family = AF_UNIX;
  EXPECT(bind(b, (const struct sockaddr*)&family, sizeof family) == 0);
  EXPECT(sendto(b, "again", 5, 0, (struct sockaddr*)&an, length_of(&an)) == 5);
  size = sizeof from;
  EXPECT(recvfrom(a, bytes, sizeof bytes, 0, (struct sockaddr*)&from, &size) == 5);
  printf("from a named one: %u\n", size);
  EXPECT(sendto(a, "back", 4, 0, (struct sockaddr*)&from, size) == 4 && recv(b, bytes, 16, 0) == 4);
  EXPECT(connect(b, (struct sockaddr*)&an, length_of(&an)) == 0);
  int n = 0;
  while (send(b, &n, 1, MSG_DONTWAIT) == 1) ++n;
  printf("%d fit, then %s\n", n, strerrorname_np(errno));
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, drain, (void*)(intptr_t)a) == 0);
  for (; n < 20; ++n) EXPECT(send(b, &n, 1, 0) == 1);
  EXPECT(pthread_join(thread, NULL) == 0);
  EXPECT(close(a) == 0 && send(b, "x", 1, 0) == -1 && errno == ECONNREFUSED);
  struct sockaddr_un none = named("nobody");
  EXPECT(sendto(b, "x", 1, 0, (struct sockaddr*)&none, length_of(&none)) == -1 && errno == ECONNREFUSED);
  printf("unix datagrams: done\n");
  return 0;
}
