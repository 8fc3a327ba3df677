// The last component of a path: ".", "..", a link, a file or nothing behind a slash, for each call that looks
// at a name, makes it or removes it. Prints the error of each.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int number;
static void show(const char* text, long result) {
  const int error = errno;
  printf("%d %s: %s\n", ++number, text, result >= 0 ? "done" : strerror(error));
}
static void show_open(const char* text, int fd) {
  show(text, fd);
  if (fd >= 0) close(fd);
}
#define SHOW(call) show(#call, call)
#define OPEN(call) show_open(#call, call)

int main(void) {
  char folder[] = "/tmp/path_ends_XXXXXX", text[16];
  EXPECT(mkdtemp(folder) != NULL && chdir(folder) == 0);
  EXPECT(mkdir("d", 0777) == 0 && mkdir("d/e", 0777) == 0 && mkdir("empty", 0777) == 0);
  EXPECT(close(open("f", O_CREAT | O_RDWR, 0666)) == 0 && symlink("d", "l") == 0 &&
         symlink("nowhere", "n") == 0);
  SHOW(rmdir("empty/."));
  SHOW(rmdir("."));
  SHOW(rmdir("d/.."));
  SHOW(rmdir("d/e/.."));
  SHOW(rmdir("l"));
  SHOW(rmdir("l/"));
  SHOW(rmdir("l/."));
  SHOW(rmdir("f/"));
  SHOW(rmdir("f/."));
  SHOW(unlink("empty/."));
  SHOW(unlink("empty/.."));
  SHOW(unlink("empty/"));
  SHOW(unlink("empty"));
  SHOW(unlink("f/"));
  SHOW(unlink("f/."));
  SHOW(unlink("l/"));
  SHOW(rename("empty/.", "g"));
  SHOW(rename("empty", "g/."));
  SHOW(rename("empty", "d/."));
  SHOW(rename("empty/..", "g"));
  SHOW(rename("f", "g/"));
  SHOW(rename("f/", "g"));
  SHOW(rename("l/", "g"));
  SHOW(rename("empty", "empty/x"));
  SHOW(rename("f", "d"));
  SHOW(rename("d", "f"));
  SHOW(mkdir("h/.", 0777));
  SHOW(mkdir("d/.", 0777));
  SHOW(mkdir("d/..", 0777));
  SHOW(mkdir("n", 0777));
  SHOW(mkdir("n/", 0777));
  SHOW(mkdir("f/x", 0777));
  SHOW(mkdir("h/", 0777));
  SHOW(link("f", "d/."));
  SHOW(link("f", "z/"));
  SHOW(link("f/", "z"));
  SHOW(link("d", "z"));
  SHOW(symlink("x", "d/."));
  SHOW(symlink("x", "z/"));
  SHOW(symlink("", "z"));
  SHOW(symlink("x", ""));
  OPEN(open("f/", O_RDONLY));
  OPEN(open("f/.", O_RDONLY));
  OPEN(open("new/", O_RDWR | O_CREAT, 0666));
  OPEN(open("d/", O_RDWR | O_CREAT, 0666));
  OPEN(open("d", O_RDWR));
  OPEN(open("d", O_WRONLY | O_CREAT | O_TRUNC, 0666));
  OPEN(open("n", O_RDONLY | O_NOFOLLOW));
  OPEN(open("n", O_RDWR | O_CREAT | O_EXCL, 0666));
  OPEN(open("n/", O_RDWR | O_CREAT, 0666));
  OPEN(open("l", O_RDONLY | O_NOFOLLOW));
  OPEN(open("l", O_RDONLY | O_NOFOLLOW | O_DIRECTORY));
  OPEN(open("l/", O_RDONLY | O_NOFOLLOW));
  OPEN(open("", O_RDONLY));
  OPEN(open("n", O_PATH | O_NOFOLLOW));
  SHOW(truncate("d", 0));
  SHOW(truncate("f", -1));
  SHOW(truncate("f/", 0));
  SHOW(chmod("f/", 0600));
  SHOW(access("f/", F_OK));
  SHOW(access("f", 8));
  SHOW(chdir("f"));
  SHOW(mknod("q/", S_IFIFO | 0600, 0));
  SHOW(mknod("f", S_IFIFO | 0600, 0));
  SHOW(mknod("q", S_IFREG | 0600, 0));
  SHOW(mknod("q2", 0100000 | 07777, 0));
  SHOW(mknod("q3", 0160000, 0));
  SHOW(mknod("q4", S_IFDIR | 0700, 0));
  SHOW(mkfifo("empty/.", 0600));
  SHOW(readlink("f", text, 16));
  SHOW(readlink("l/", text, 16));
  SHOW(readlink("n", text, 3));
  SHOW(readlink("n", text, 0));
  SHOW(renameat2(AT_FDCWD, "f", AT_FDCWD, "d", 8));
  SHOW(renameat2(AT_FDCWD, "f", AT_FDCWD, "d", RENAME_NOREPLACE));
  SHOW(renameat2(AT_FDCWD, "f", AT_FDCWD, "d", RENAME_EXCHANGE | RENAME_NOREPLACE));
  SHOW(unlinkat(AT_FDCWD, "f", AT_REMOVEDIR));
  SHOW(unlinkat(AT_FDCWD, "empty", 0));
  SHOW(unlinkat(AT_FDCWD, "empty", 1));
  SHOW(unlinkat(77, "f", 0));
  // Nothing was removed that the calls had refused.
  struct stat status;
  EXPECT(lstat("l", &status) == 0 && S_ISLNK(status.st_mode) && lstat("f", &status) == 0);
  EXPECT(chdir("/") == 0);
  const char* const names[] = {"q", "q2", "h", "n", "l", "f", "d/e", "d", "nowhere", "empty"};
  for (int i = 0; i < (int)(sizeof names / sizeof *names); ++i) {
    char path[80];
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    remove(path);
  }
  EXPECT(rmdir(folder) == 0);
  return 0;
}
