// Files in /tmp: stat, order of names, links, numbers and times.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static struct stat of(const char* path) {
  struct stat status;
  EXPECT(lstat(path, &status) == 0);
  return status;
}

static void write_file(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  EXPECT(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
}

static int later(struct timespec a, struct timespec b) {
  return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

int main(void) {
  char folder[] = "/tmp/own-XXXXXX", path[256], here[256], target[256];
  EXPECT(mkdtemp(folder) != NULL && chdir(folder) == 0);
  EXPECT(getcwd(here, sizeof here) != NULL);
  printf("works in the folder: %d\n", strcmp(here, folder) == 0);
  write_file("b", "two\n");
  sleep_ms(20);
  write_file("a", "one\n");
  EXPECT(link("a", "c") == 0 && symlink("a", "l") == 0 && mkdir("d", 0755) == 0);
  const struct stat a = of("a"), b = of("b"), c = of("c"), d = of("d"), l = of("l");
  printf("hard link: %d, %ld names\n", a.st_ino == c.st_ino && a.st_dev == c.st_dev, (long)c.st_nlink);
  printf("numbers: %d\n", a.st_ino != b.st_ino && b.st_ino != d.st_ino && l.st_ino != a.st_ino);
  printf("sizes: %ld %ld, blocks %d\n", (long)a.st_size, (long)l.st_size, a.st_blocks >= 0);
  printf("written later: %d\n", later(a.st_mtim, b.st_mtim));
  struct timespec now;
  EXPECT(clock_gettime(CLOCK_REALTIME, &now) == 0);
  printf("written now: %d\n", now.tv_sec - a.st_mtim.tv_sec <= 2 && !later(a.st_mtim, now));
  const int fd = open("a", O_RDWR);
  struct stat opened;
  EXPECT(fstat(fd, &opened) == 0);
  printf("opened: %d\n", opened.st_ino == a.st_ino && opened.st_dev == a.st_dev && opened.st_size == 4);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(path, target, sizeof target - 1);
  EXPECT(n > 0);
  target[n] = 0;
  snprintf(path, sizeof path, "%s/a", folder);
  printf("its link: %d\n", strcmp(target, path) == 0);
  const struct timespec times[2] = {{1000, 5}, {1000, 5}};
  EXPECT(utimensat(AT_FDCWD, "b", times, 0) == 0 && of("b").st_mtim.tv_sec == 1000 && of("b").st_mtim.tv_nsec == 5);
  EXPECT(futimens(fd, times) == 0 && of("a").st_mtim.tv_sec == 1000);
  sleep_ms(20);
  EXPECT(pwrite(fd, "x", 1, 0) == 1 && later(of("a").st_mtim, b.st_mtim) && close(fd) == 0);
  EXPECT(rename("b", "d/e") == 0 && of("d/e").st_ino == b.st_ino && access("b", F_OK) == -1 && errno == ENOENT);
  int entries = 0, same = 0;
  DIR* const opened_folder = opendir(".");
  for (struct dirent* entry; (entry = readdir(opened_folder)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    ++entries;
    same += entry->d_ino == of(entry->d_name).st_ino;
  }
  closedir(opened_folder);
  printf("entries: %d, of the same number %d\n", entries, same);
  struct statvfs system;
  EXPECT(statvfs(".", &system) == 0);
  printf("free: %d\n", system.f_bfree > 0 && system.f_bavail <= system.f_blocks);
  // A link of the folder to the machine's files and back, and a path out of it by dots.
  EXPECT(symlink("/etc", "etc") == 0 && access("etc/passwd", R_OK) == 0 && access("../../etc/passwd", R_OK) == 0);
  EXPECT(symlink(folder, "again") == 0 && of("again/again/a").st_ino == a.st_ino);
  // A script there gets its own name.
  FILE* const script = fopen("script", "w");
  fprintf(script, "#!/bin/sh -e\necho \"${0#%s/} $1\"\n", folder);
  EXPECT(fclose(script) == 0 && chmod("script", 0700) == 0);
  fflush(stdout);
  const pid_t child = fork();
  snprintf(path, sizeof path, "%s/script", folder);
  if (child == 0) {
    execl(path, "script", "argument", NULL);
    _exit(9);
  }
  int status;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  for (const char* const* name = (const char*[]){"a", "c", "l", "etc", "again", "script", "d/e", NULL}; *name; ++name)
    EXPECT(unlink(*name) == 0);
  EXPECT(rmdir("d") == 0 && chdir("/") == 0 && rmdir(folder) == 0 && access(folder, F_OK) == -1);
  return 0;
}
