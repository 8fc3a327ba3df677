// Locks on a file between two processes: flock and fcntl, blocking and non-blocking.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

int main(void) {
  char path[] = "/tmp/file_locks_XXXXXX";
  const int fd = mkstemp(path);
  int ready[2];
  EXPECT(fd >= 0 && pipe(ready) == 0);
  const pid_t child = fork();
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  char byte;
  if (child == 0) {
    const int own = open(path, O_RDWR);
    EXPECT(flock(own, LOCK_EX) == 0 && fcntl(own, F_SETLK, &whole) == 0 && write(ready[1], "x", 1) == 1);
    sleep_ms(30);
    EXPECT(flock(own, LOCK_UN) == 0);
    sleep_ms(30);
    _exit(0);
  }
  EXPECT(read(ready[0], &byte, 1) == 1);
  EXPECT(flock(fd, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK);
  EXPECT(fcntl(fd, F_SETLK, &whole) == -1 && (errno == EAGAIN || errno == EACCES));
  const int64_t start = now_ns();
  EXPECT(flock(fd, LOCK_SH) == 0 && now_ns() - start >= 20000000);
  EXPECT(fcntl(fd, F_SETLKW, &whole) == 0 && now_ns() - start >= 50000000);
  int status;
  EXPECT(waitpid(child, &status, 0) == child && status == 0 && unlink(path) == 0);
  printf("locks: done\n");
  return 0;
}
