// connect: another thread changes the address while the call waits for room in the listener's queue, and for
// the answer of one that is slow to accept.
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/process/changed_meanwhile.h"

static int listener;
static struct sockaddr_un address;
static socklen_t length;

static void change_address(void) {
  memset(&address, 0x7f, sizeof address);
  EXPECT(accept(listener, NULL, NULL) >= 0);
}

int main(void) {
  struct change change;
  char folder[] = "/tmp/changed_XXXXXX";
  EXPECT(mkdtemp(folder) != NULL);
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof address.sun_path, "%s/listener", folder);
  length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(address.sun_path) + 1);
  const struct sockaddr_un kept = address;
  listener = socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT(listener >= 0 && bind(listener, (struct sockaddr*)&address, length) == 0 &&
         listen(listener, 1) == 0);
  for (;;) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    EXPECT(fd >= 0);
    if (connect(fd, (struct sockaddr*)&address, length) == 0) continue;
    EXPECT(errno == EAGAIN);
    break;
  }
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  const pthread_t thread = change_meanwhile(&change, change_address);
  const int result = connect(fd, (struct sockaddr*)&address, length);
  printf("connect: %d %s\n", result, strerrorname_np(result == 0 ? 0 : errno));
  EXPECT(pthread_join(thread, NULL) == 0);
  struct sockaddr_un peer;
  socklen_t size = sizeof peer;
  EXPECT(getpeername(fd, (struct sockaddr*)&peer, &size) == 0 && size == length);
  printf("to the address that it was given: %d\n", strcmp(peer.sun_path, kept.sun_path) == 0);
  EXPECT(unlink(kept.sun_path) == 0 && rmdir(folder) == 0);
  return 0;
}
