// Descriptors of O_PATH and O_TMPFILE, and calls on descriptors that are not open.
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "tests/process/expect.h"

// O_PATH names a file without access to it.
static void only_a_place(const char* path) {
  char text[8];
  struct stat status;
  struct termios settings;
  const int place = open(path, O_PATH);
  EXPECT(place >= 0 && fstat(place, &status) == 0 && status.st_size == 5);
  EXPECT(fcntl(place, F_GETFL) == O_PATH && fcntl(place, F_SETFD, FD_CLOEXEC) == 0);
  EXPECT(read(place, text, 1) == -1 && errno == EBADF && write(place, "x", 1) == -1 && errno == EBADF);
  EXPECT(fchmod(place, 0644) == -1 && errno == EBADF && fchown(place, 0, 0) == -1 && errno == EBADF);
  EXPECT(ioctl(place, FS_IOC_GETFLAGS, text) == -1 && errno == EBADF && tcgetattr(place, &settings) == -1 && errno == EBADF);
  EXPECT(fcntl(place, F_GETOWN) == -1 && errno == EBADF && fcntl(place, F_GETLEASE) == -1 && errno == EBADF);
  const int copy = dup(place);
  EXPECT(copy >= 0 && ioctl(copy, FIONREAD, text) == -1 && errno == EBADF && close(copy) == 0 && close(place) == 0);
}

static void not_open(int fd) {
  struct termios settings;
  int number;
  EXPECT(tcgetattr(fd, &settings) == -1 && errno == EBADF && ioctl(fd, FIONREAD, &number) == -1 && errno == EBADF);
  EXPECT(fcntl(fd, F_GETOWN) == -1 && errno == EBADF && fcntl(fd, F_GETSIG) == -1 && errno == EBADF);
  EXPECT(fchown(fd, 0, 0) == -1 && errno == EBADF);
}

// A file without a name gets one when it is complete.
static void named_later(const char* folder, const char* path) {
  char text[8];
  const int fd = open(folder, O_TMPFILE | O_RDWR, 0600);
  EXPECT(fd >= 0 && write(fd, "whole", 5) == 5);
  char open_file[32];
  snprintf(open_file, sizeof open_file, "/proc/self/fd/%d", fd);
  // Its name in /proc has the inode number, which must not be the machine's: it would differ between runs.
  char seen[128] = "", end[16] = "";
  unsigned long number = 0;
  EXPECT(readlink(open_file, seen, sizeof seen - 1) > 0 && strncmp(seen, folder, strlen(folder)) == 0);
  EXPECT(sscanf(seen + strlen(folder), "/#%lu %15s", &number, end) == 2 && number != 0 && strcmp(end, "(deleted)") == 0);
  EXPECT(usleep(number % 1000) == 0);  // makes the number part of the digest
  EXPECT(linkat(AT_FDCWD, open_file, AT_FDCWD, path, 0) == -1 && errno == EXDEV);  // the link in /proc itself
  EXPECT(linkat(AT_FDCWD, open_file, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0);
  EXPECT(linkat(AT_FDCWD, open_file, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == -1 && errno == EEXIST);
  struct stat status, of_file;
  EXPECT(stat(path, &status) == 0 && fstat(fd, &of_file) == 0 && status.st_ino == of_file.st_ino && status.st_size == 5);
  EXPECT(close(fd) == 0);
  const int again = open(path, O_RDONLY);
  EXPECT(again >= 0 && read(again, text, 8) == 5 && memcmp(text, "whole", 5) == 0 && close(again) == 0);
  int ends[2];
  EXPECT(pipe(ends) == 0);
  snprintf(open_file, sizeof open_file, "/proc/self/fd/%d", ends[0]);
  EXPECT(linkat(AT_FDCWD, open_file, AT_FDCWD, "/tmp/of-a-pipe", AT_SYMLINK_FOLLOW) == -1 && errno == EXDEV);
}

int main(void) {
  char folder[] = "/tmp/open_places_XXXXXX", path[64];
  EXPECT(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/file", folder);
  named_later(folder, path);
  only_a_place(path);
  not_open(-1);
  not_open(77);
  EXPECT(unlink(path) == 0 && rmdir(folder) == 0);
  char* const nowhere = (char*)-1;
  EXPECT(syscall(SYS_getcwd, nowhere, (size_t)-1) == -1 && errno == EFAULT);
  EXPECT(syscall(SYS_getcwd, folder, 1) == -1 && errno == ERANGE);
  printf("places: done\n");
  return 0;
}
