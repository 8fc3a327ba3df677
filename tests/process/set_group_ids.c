// Set-user-id and set-group-id bits: a new owner clears them, a folder passes its group on, and a user outside the file's
// group cannot set them. Natively the program must run as root.
#include <fcntl.h>
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/process/expect.h"

static struct stat status_of(const char* path) {
  struct stat status;
  EXPECT(lstat(path, &status) == 0);
  return status;
}
static unsigned mode_of(const char* path) { return status_of(path).st_mode & 07777; }
static gid_t group_of(const char* path) { return status_of(path).st_gid; }
static void make(const char* path) {
  const int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
  EXPECT(fd >= 0 && close(fd) == 0);
}

int main(void) {
  char folder[] = "/tmp/set_group_ids_XXXXXX";
  EXPECT(mkdtemp(folder) != NULL && chdir(folder) == 0 && chmod(".", 0777) == 0);
  umask(022);

  make("file");
  EXPECT(chmod("file", 06770) == 0 && chown("file", 1, 1) == 0 && mode_of("file") == 0770);
  EXPECT(chmod("file", 06760) == 0 && chown("file", 2, 2) == 0 && mode_of("file") == 02760);
  int fd = open("file", O_RDONLY);
  EXPECT(fd >= 0 && fchmod(fd, 06777) == 0 && fchown(fd, 1, 1) == 0 && close(fd) == 0 && mode_of("file") == 0777);
  EXPECT(mkdir("kept", 0755) == 0 && chmod("kept", 06770) == 0 && chown("kept", 1, 1) == 0 && mode_of("kept") == 06770);

  EXPECT(mkdir("shared", 0777) == 0 && chmod("shared", 02777) == 0 && chown("shared", 0, 30) == 0);
  make("shared/file");
  EXPECT(group_of("shared/file") == 30 && mode_of("shared/file") == 0644);
  EXPECT(mkdir("shared/folder", 0755) == 0 && group_of("shared/folder") == 30 && mode_of("shared/folder") == 02755);
  make("shared/folder/deep");
  EXPECT(group_of("shared/folder/deep") == 30);
  EXPECT(symlink("file", "shared/link") == 0 && group_of("shared/link") == 30 && mkfifo("shared/pipe", 0600) == 0);
  EXPECT(group_of("shared/pipe") == 30 && (fd = open("shared", O_TMPFILE | O_RDWR, 0600)) >= 0);
  struct stat status;
  EXPECT(fstat(fd, &status) == 0 && status.st_gid == 30 && close(fd) == 0);
  make("plain");
  EXPECT(group_of("plain") == 0 && rename("plain", "shared/plain") == 0 && group_of("shared/plain") == 0);

  make("own");
  make("foreign");
  EXPECT(chown("own", 1000, 1000) == 0 && chown("foreign", 1000, 30) == 0 && setgroups(0, NULL) == 0);
  EXPECT(setresgid(1000, 1000, 1000) == 0 && setresuid(1000, 1000, 1000) == 0);
  EXPECT(chmod("own", 02755) == 0 && mode_of("own") == 02755);
  EXPECT(chmod("foreign", 06755) == 0 && mode_of("foreign") == 04755);
  EXPECT((fd = open("foreign", O_RDONLY)) >= 0 && fchmod(fd, 02711) == 0 && close(fd) == 0 && mode_of("foreign") == 0711);
  make("shared/of user");
  EXPECT(status_of("shared/of user").st_uid == 1000 && group_of("shared/of user") == 30);
  printf("set-group-id: done\n");
  return 0;
}
