// Memory shared between processes: a memfd that is inherited, sealed, mapped twice; private mappings stay
// private.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

int main(void) {
  int ends[2];
  char name[] = "/tmp/shared_memory_XXXXXX", c;
  EXPECT(pipe(ends) == 0);
  const int file = mkstemp(name);
  EXPECT(write(file, "text and more", 13) == 13 && lseek(file, 0, SEEK_SET) == 0);
  const int fd = memfd_create("shared", MFD_ALLOW_SEALING);
  EXPECT(fd >= 0 && ftruncate(fd, 8192) == 0);
  char* const shared = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  char* const own = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  EXPECT(shared != MAP_FAILED && own != MAP_FAILED);
  strcpy(shared, "before");
  own[4096] = 'p';
  const pid_t child = fork();
  if (child == 0) {
    EXPECT(read(ends[0], &c, 1) == 1);
    char* const there = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT(there != MAP_FAILED && strcmp(there, "after") == 0 && there[4096] == 0);
    strcpy(there + 100, "from the child");
    EXPECT(fcntl(fd, F_GET_SEALS) == F_SEAL_SHRINK && ftruncate(fd, 0) == -1 && errno == EPERM);
    char bytes[8] = "";  // of a file whose position is shared
    EXPECT(read(file, bytes, 4) == 4 && strcmp(bytes, "text") == 0);
    _exit(0);
  }
  strcpy(shared, "after");
  EXPECT(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
  EXPECT(write(ends[1], "g", 1) == 1);
  int status;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  printf("seen: %s; mine alone: %c; position %ld\n", shared + 100, own[4096], (long)lseek(file, 0, SEEK_CUR));
  EXPECT(own[0] == 'a' && msync(shared, 8192, MS_SYNC) == 0 && unlink(name) == 0);
  struct stat status_of;
  EXPECT(fstat(fd, &status_of) == 0 && status_of.st_size == 8192);
  return 0;
}
