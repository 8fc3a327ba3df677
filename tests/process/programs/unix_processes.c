// Parent and child over a socketpair and over pipes; two programs joined as by a shell.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

int main(void) {
  int pair[2], ends[2], status;
  char bytes[64];
  EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
  pid_t child = fork();
  if (child == 0) {
    close(pair[0]);
    ssize_t n;
    while ((n = recv(pair[1], bytes, sizeof bytes, 0)) > 0) EXPECT(send(pair[1], bytes, n, 0) == n);
    _exit(n == 0 ? 3 : 4);
  }
  close(pair[1]);
  for (int i = 1; i <= 10; ++i)
    EXPECT(send(pair[0], bytes, i, 0) == i && recv(pair[0], bytes, sizeof bytes, 0) == i);
  EXPECT(close(pair[0]) == 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);

  EXPECT(pipe(ends) == 0);
  child = fork();
  if (child == 0) {
    dup2(ends[1], 1);
    close(ends[0]);
    close(ends[1]);
    execl("/bin/echo", "echo", "from", "another", "program", (char*)NULL);
    _exit(127);
  }
  close(ends[1]);
  ssize_t n, all = 0;
  while ((n = read(ends[0], bytes + all, sizeof bytes - all)) > 0) all += n;
  EXPECT(n == 0 && waitpid(child, &status, 0) == child && status == 0);
  printf("read: %.*s", (int)all, bytes);
  return 0;
}
