// sendfile: from files into sockets and pipes, with and without an offset, across the end of a file; refused
// descriptors.
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

enum { kSize = 300000 };
static unsigned char sent[kSize], received[kSize];

int main(void) {
  char name[] = "/tmp/sendfile_kinds_XXXXXX";
  const int file = mkstemp(name);
  EXPECT(file >= 0 && unlink(name) == 0);
  for (int i = 0; i < kSize; ++i) sent[i] = (unsigned char)(i * 31 + i / 251);
  EXPECT(write(file, sent, kSize) == kSize);
  int pair[2];
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  const pid_t child = fork();
  if (child == 0) {
    close(pair[0]);
    off_t offset = 0;
    while (offset < kSize) EXPECT(sendfile(pair[1], file, &offset, kSize - offset) > 0);
    EXPECT(sendfile(pair[1], file, &offset, 10) == 0);
    _exit(0);
  }
  close(pair[1]);
  int n, total = 0;
  while ((n = read(pair[0], received + total, kSize - total)) > 0) total += n;
  EXPECT(waitpid(child, &n, 0) == child && n == 0);
  printf("to a socket: %d, the same %d\n", total, memcmp(sent, received, kSize) == 0);
  int ends[2];
  EXPECT(pipe(ends) == 0 && lseek(file, 1000, SEEK_SET) == 1000);
  EXPECT(sendfile(ends[1], file, NULL, 500) == 500 && lseek(file, 0, SEEK_CUR) == 1500);
  off_t offset = kSize - 100;
  EXPECT(sendfile(ends[1], file, &offset, 500) == 100 && offset == kSize && lseek(file, 0, SEEK_CUR) == 1500);
  EXPECT(read(ends[0], received, kSize) == 600);
  printf("to a pipe: %d\n",
         memcmp(received, sent + 1000, 500) == 0 && memcmp(received + 500, sent + kSize - 100, 100) == 0);
  printf("from a pipe: %s\n", sendfile(file, ends[0], NULL, 10) == -1 ? strerrorname_np(errno) : "?");
  close(ends[0]);
  close(ends[1]);
  printf("closed: %s\n", sendfile(ends[1], file, NULL, 10) == -1 ? strerrorname_np(errno) : "?");
  return 0;
}
