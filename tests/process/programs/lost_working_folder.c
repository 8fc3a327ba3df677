// A working folder that is deleted, and one whose path is longer than PATH_MAX: calls with relative paths, and programs
// that are executed there.
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

extern char** environ;

static void executes(const char* option) {
  const pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    char program[] = "/proc/self/exe", *arguments[] = {program, (char*)option, NULL};
    char path[PATH_MAX] = "";
    EXPECT(readlink(program, path, sizeof path - 1) > 0);
    execve(path, arguments, environ);
    _exit(errno);
  }
  int status;
  EXPECT(waitpid(child, &status, 0) == child);
  if (status != 0) printf("%s: status %d\n", option, status);
  EXPECT(status == 0);
}

static void in_a_deleted_folder(void) {
  char name[] = "/tmp/deleted-XXXXXX";
  EXPECT(mkdtemp(name) != NULL && chdir(name) == 0 && rmdir(name) == 0);
  char text[PATH_MAX];
  EXPECT(getcwd(text, sizeof text) == NULL && errno == ENOENT);
  EXPECT(open("file", O_RDWR | O_CREAT, 0644) == -1 && errno == ENOENT);
  EXPECT(mkdir("folder", 0755) == -1 && errno == ENOENT);
  struct stat here;
  EXPECT(stat(".", &here) == 0 && S_ISDIR(here.st_mode) && here.st_nlink == 0);
  EXPECT(access("file", F_OK) == -1 && errno == ENOENT);
  executes("deleted");
  EXPECT(chdir("/tmp") == 0);
}

enum { kDepth = 50 };

static void in_a_deep_folder(void) {
  char name[] = "/tmp/deep-XXXXXX", part[101];
  memset(part, 'd', 100);
  part[100] = 0;
  EXPECT(mkdtemp(name) != NULL && chdir(name) == 0);
  for (int i = 0; i < kDepth; ++i) EXPECT(mkdir(part, 0755) == 0 && chdir(part) == 0);
  char text[PATH_MAX];
  EXPECT(syscall(SYS_getcwd, text, sizeof text) == -1 && errno == ENAMETOOLONG);
  const int file = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
  EXPECT(file >= 0 && write(file, "text", 4) == 4 && close(file) == 0);
  struct stat status;
  EXPECT(stat("file", &status) == 0 && status.st_size == 4);
  EXPECT(rename("file", "other") == 0 && access("other", R_OK) == 0 && symlink("other", "link") == 0);
  char linked[16] = "";
  EXPECT(readlink("link", linked, sizeof linked) == 5 && memcmp(linked, "other", 5) == 0);
  const int folder = open(".", O_RDONLY | O_DIRECTORY);
  EXPECT(folder >= 0 && fstatat(folder, "other", &status, 0) == 0 && unlinkat(folder, "link", 0) == 0 && close(folder) == 0);
  executes("deep");
  EXPECT(unlink("other") == 0);
  for (int i = 0; i < kDepth; ++i) EXPECT(chdir("..") == 0 && rmdir(part) == 0);
  EXPECT(getcwd(text, sizeof text) != NULL && strcmp(text, name) == 0 && rmdir(name) == 0);
}

int main(int argc, char** argv) {
  if (argc > 1) {
    char text[PATH_MAX];
    struct stat here;
    EXPECT(stat(".", &here) == 0 && (here.st_nlink == 0) == (strcmp(argv[1], "deleted") == 0));
    EXPECT(syscall(SYS_getcwd, text, sizeof text) == -1);
    EXPECT(errno == (strcmp(argv[1], "deleted") == 0 ? ENOENT : ENAMETOOLONG));
    return 0;
  }
  in_a_deleted_folder();
  in_a_deep_folder();
  printf("lost working folders: ok\n");
  return 0;
}
