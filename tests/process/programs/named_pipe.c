// A named pipe: each end waits for the other to be opened. An open that is refused, or opens only the path,
// does not wait.
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/process/expect.h"

static char path[64];
static void* write_later(void* unused) {
  (void)unused;
  sleep_ms(20);
  const int fd = open(path, O_WRONLY);
  EXPECT(fd >= 0 && write(fd, "through a file name\n", 20) == 20 && close(fd) == 0);
  return NULL;
}

int main(void) {
  char folder[] = "/tmp/named_pipe_XXXXXX";
  EXPECT(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/pipe", folder);
  EXPECT(mkfifo(path, 0600) == 0);
  EXPECT(open(path, O_WRONLY | O_NONBLOCK) == -1 && errno == ENXIO);
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, write_later, NULL) == 0);
  FILE* file = fopen(path, "r");
  char line[64];
  EXPECT(file != NULL && fgets(line, sizeof line, file) != NULL);
  printf("%s", line);
  EXPECT(fgets(line, sizeof line, file) == NULL && feof(file) && fclose(file) == 0);
  EXPECT(pthread_join(thread, NULL) == 0);
  const int both = open(path, O_RDWR);
  EXPECT(both >= 0 && write(both, "z", 1) == 1 && read(both, line, 1) == 1 && line[0] == 'z');
  const int reader = open(path, O_RDONLY | O_NONBLOCK);
  EXPECT(reader >= 0 && read(reader, line, 1) == -1 && errno == EAGAIN);
  EXPECT(close(both) == 0 && read(reader, line, 1) == 0);
  // Opens that do not join the pipe do not wait for its other end.
  char link[80];
  snprintf(link, sizeof link, "%s/link", folder);
  EXPECT(symlink("pipe", link) == 0);
  EXPECT(open(path, O_RDONLY | O_DIRECTORY) == -1 && errno == ENOTDIR);
  EXPECT(open(path, O_WRONLY | O_DIRECTORY | O_NOFOLLOW) == -1 && errno == ENOTDIR);
  EXPECT(open(path, O_RDONLY | O_CREAT | O_EXCL, 0600) == -1 && errno == EEXIST);
  EXPECT(open(link, O_RDONLY | O_NOFOLLOW) == -1 && errno == ELOOP);
  EXPECT(open(path, O_ACCMODE) == -1 && errno == EINVAL);
  struct stat status;
  const int place = open(path, O_PATH | O_NOFOLLOW);
  EXPECT(place >= 0 && fstat(place, &status) == 0 && S_ISFIFO(status.st_mode) && (status.st_mode & 0777) == 0600);
  EXPECT(read(place, line, 1) == -1 && errno == EBADF && close(place) == 0);
  EXPECT(unlink(link) == 0 && unlink(path) == 0 && rmdir(folder) == 0);
  return 0;
}
