// Files between processes: shared and separate positions, appending, record locks by open file description,
// temporary files.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int lock(int fd, int command, short type, off_t start, off_t length) {
  struct flock record = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
  return fcntl(fd, command, &record);
}

int main(void) {
  char name[] = "/tmp/shared_files_XXXXXX";
  const int file = mkstemp(name), appending = open(name, O_WRONLY | O_APPEND), own = open(name, O_RDWR);
  EXPECT(file >= 0 && appending >= 0 && own >= 0);
  int children[4];
  for (int i = 0; i < 4; ++i) {
    if ((children[i] = fork()) != 0) continue;
    char line[16];
    for (int k = 0; k < 25; ++k) {
      snprintf(line, sizeof line, "%d:%05d\n", i, k);
      EXPECT(write(k % 2 ? appending : file, line, 8) == 8);
      if (k % 2 == 0) EXPECT(lseek(file, 0, SEEK_END) >= 0);
    }
    _exit(0);
  }
  for (int i = 0; i < 4; ++i) EXPECT(waitpid(children[i], NULL, 0) == children[i]);
  struct stat status;
  EXPECT(fstat(file, &status) == 0 && status.st_size % 8 == 0 && status.st_size >= 4 * 12 * 8);
  printf("records stay whole: %d\n", status.st_size % 8 == 0);
  EXPECT(lock(file, F_OFD_SETLK, F_WRLCK, 0, 100) == 0 && lock(own, F_OFD_SETLK, F_WRLCK, 50, 10) == -1 &&
         errno == EAGAIN);
  EXPECT(lock(own, F_OFD_SETLK, F_WRLCK, 100, 10) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const int theirs = open(name, O_RDWR);
    const int64_t start = now_ns();
    EXPECT(lock(theirs, F_OFD_SETLKW, F_WRLCK, 0, 10) == 0);  // waits for the parent
    _exit(now_ns() - start >= 30000000 ? 1 : 2);
  }
  sleep_ms(100);
  EXPECT(lock(file, F_OFD_SETLK, F_UNLCK, 0, 0) == 0);
  int code;
  EXPECT(waitpid(child, &code, 0) == child);
  printf("waited for a record: %d\n", WEXITSTATUS(code) == 1);
  EXPECT(flock(file, LOCK_EX) == 0 && flock(own, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK);
  const int copy = dup(file);
  EXPECT(flock(copy, LOCK_UN) == 0 && flock(own, LOCK_SH | LOCK_NB) == 0 &&
         flock(file, LOCK_SH | LOCK_NB) == 0);
  FILE* const temporary = tmpfile();
  EXPECT(temporary != NULL && fprintf(temporary, "kept") == 4 && fseek(temporary, 0, SEEK_SET) == 0);
  char text[8] = "";
  EXPECT(fread(text, 1, 4, temporary) == 4 && unlink(name) == 0 && access(name, F_OK) == -1);
  printf("unlinked and %s\n", text);
  return 0;
}
