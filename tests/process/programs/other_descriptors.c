// Descriptors of other processes of the host through /proc/PID/fd: files are opened anew, folders list the
// numbers, sockets cannot be opened, and a process without permission gets EACCES.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../expect.h"

static char path[64];
static const char* of(pid_t pid, int fd) {
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
  return path;
}

// Opened by another process: the same bytes and a position of its own; its writes are visible.
static void look(pid_t parent, int memory, int named, int pair, int pipe_end) {
  char text[16] = "";
  const int files[] = {memory, named};
  for (int i = 0; i < 2; ++i) {
    const int fd = open(of(parent, files[i]), O_RDWR);
    EXPECT(fd >= 0 && read(fd, text, 5) == 5 && memcmp(text, "first", 5) == 0);
    struct stat one, other;
    EXPECT(fstat(fd, &one) == 0 && stat(of(parent, files[i]), &other) == 0 && one.st_size == other.st_size);
    EXPECT(pwrite(fd, "later", 5, 0) == 5 && close(fd) == 0);
  }
  EXPECT(open(of(parent, pair), O_RDWR) == -1 && errno == ENXIO);
  const int end = open(of(parent, pipe_end), O_WRONLY);
  EXPECT(end >= 0 && write(end, "x", 1) == 1);
  EXPECT(open(of(parent, 900), O_RDONLY) == -1 && errno == ENOENT);
  int seen = 0;
  snprintf(path, sizeof path, "/proc/%d/fd", (int)parent);
  DIR* const folder = opendir(path);
  EXPECT(folder != NULL);
  for (struct dirent* entry; (entry = readdir(folder)) != NULL;)
    seen += atoi(entry->d_name) == memory || atoi(entry->d_name) == pair;
  EXPECT(seen == 2);
  EXPECT(closedir(folder) == 0);
  if (getuid() != 0) return;  // natively by an ordinary user, who cannot change the uid
  EXPECT(setresuid(1234, 1234, 1234) == 0 && open(of(parent, memory), O_RDONLY) == -1 && errno == EACCES);
  snprintf(path, sizeof path, "/proc/%d/fd", (int)parent);
  EXPECT(open(path, O_RDONLY | O_DIRECTORY) == -1 && errno == EACCES);
  EXPECT(open("/proc/self/fd", O_RDONLY | O_DIRECTORY) >= 0);
}

int main(void) {
  char name[64];
  snprintf(name, sizeof name, "/dev/shm/other_descriptors.%d", (int)getpid());
  const int memory = memfd_create("mine", 0);
  const int named = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
  int pair[2], ends[2];
  EXPECT(memory >= 0 && named >= 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(ends) == 0);
  EXPECT(write(memory, "first", 5) == 5 && write(named, "first", 5) == 5 && unlink(name) == 0);
  const pid_t parent = getpid(), child = fork();
  if (child == 0) {
    close(memory), close(named), close(pair[0]), close(pair[1]), close(ends[0]), close(ends[1]);
    look(parent, memory, named, pair[0], ends[1]);
    _exit(3);
  }
  int status;
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
  char text[8];
  EXPECT(pread(memory, text, 5, 0) == 5 && memcmp(text, "later", 5) == 0);
  EXPECT(pread(named, text, 5, 0) == 5 && memcmp(text, "later", 5) == 0);
  EXPECT(read(ends[0], text, 1) == 1 && text[0] == 'x');
  // Owners, permissions and locks of files that have no name.
  EXPECT(fchmod(ends[0], 0600) == 0 && fchmod(pair[0], 0600) == 0 && fchown(pair[0], -1, -1) == 0);
  EXPECT(flock(ends[0], LOCK_EX) == 0 && flock(ends[0], LOCK_UN) == 0);
  printf("opened anew\n");
  return 0;
}
