// Stream sockets by path and by abstract name: present and missing servers, credentials.
#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/process/expect.h"

static struct sockaddr_un name;
static socklen_t length;

static void* serve(void* listener) {
  struct sockaddr_un peer;
  socklen_t size = sizeof peer;
  const int s = accept4((int)(intptr_t)listener, (struct sockaddr*)&peer, &size, SOCK_CLOEXEC);
  EXPECT(s >= 0 && size == sizeof(sa_family_t) && peer.sun_family == AF_UNIX);
  char bytes[8];
  ssize_t n;
  while ((n = read(s, bytes, sizeof bytes)) > 0) EXPECT(write(s, bytes, n) == n);
  EXPECT(n == 0 && close(s) == 0);
  return NULL;
}

static void talk(void) {
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT(connect(client, (struct sockaddr*)&name, length) == -1);
  printf("nobody: %s\n", strerrorname_np(errno));
  EXPECT(bind(listener, (struct sockaddr*)&name, length) == 0);
  EXPECT(connect(client, (struct sockaddr*)&name, length) == -1 && errno == ECONNREFUSED);
  EXPECT(bind(client, (struct sockaddr*)&name, length) == -1 && errno == EADDRINUSE);
  EXPECT(listen(listener, 1) == 0);
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, serve, (void*)(intptr_t)listener) == 0);
  EXPECT(connect(client, (struct sockaddr*)&name, length) == 0);
  EXPECT(connect(client, (struct sockaddr*)&name, length) == -1 && errno == EISCONN);
  struct ucred peer;
  socklen_t size = sizeof peer;
  EXPECT(getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0);
  EXPECT(peer.pid == getpid() && peer.uid == getuid() && peer.gid == getgid());
  struct sockaddr_un shown;
  size = sizeof shown;
  EXPECT(getpeername(client, (struct sockaddr*)&shown, &size) == 0 && size == length);
  EXPECT(memcmp(&shown, &name, length) == 0);
  char bytes[16];
  EXPECT(write(client, "around and back", 15) == 15);
  EXPECT(recv(client, bytes, 15, MSG_WAITALL) == 15 && memcmp(bytes, "around and back", 15) == 0);
  EXPECT(shutdown(client, SHUT_WR) == 0 && read(client, bytes, 1) == 0);
  EXPECT(pthread_join(thread, NULL) == 0 && close(listener) == 0 && close(client) == 0);
}

// A client that has closed its socket before it is accepted.
static void gone_client(void) {
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT(bind(listener, (struct sockaddr*)&name, length) == 0 && listen(listener, 1) == 0);
  EXPECT(connect(client, (struct sockaddr*)&name, length) == 0 && write(client, "left", 4) == 4 && close(client) == 0);
  struct sockaddr_un shown;
  socklen_t size = sizeof shown;
  const int accepted = accept(listener, (struct sockaddr*)&shown, &size);
  EXPECT(accepted >= 0 && size == sizeof shown.sun_family && shown.sun_family == AF_UNIX);
  size = sizeof shown;
  EXPECT(getpeername(accepted, (struct sockaddr*)&shown, &size) == 0 && size == sizeof shown.sun_family);
  char bytes[16];
  EXPECT(read(accepted, bytes, sizeof bytes) == 4 && read(accepted, bytes, sizeof bytes) == 0);
  EXPECT(close(accepted) == 0 && close(listener) == 0);
}

int main(void) {
  name.sun_family = AF_UNIX;
  strcpy(name.sun_path + 1, "a name without a file");
  length = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name.sun_path + 1);
  talk();
  gone_client();
  char folder[] = "/tmp/unix_stream_XXXXXX";
  EXPECT(mkdtemp(folder) != NULL && chdir(folder) == 0);
  strcpy(name.sun_path, "here");
  length = offsetof(struct sockaddr_un, sun_path) + 5;
  talk();
  struct stat status;
  EXPECT(stat("here", &status) == 0 && S_ISSOCK(status.st_mode) && (status.st_mode & 0777) == 0755);
  const int late = socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT(connect(late, (struct sockaddr*)&name, length) == -1 && errno == ECONNREFUSED);
  EXPECT(bind(late, (struct sockaddr*)&name, length) == -1 && errno == EADDRINUSE);
  EXPECT(unlink("here") == 0 && chdir("/") == 0 && rmdir(folder) == 0);
  printf("unix streams: done\n");
  return 0;
}
