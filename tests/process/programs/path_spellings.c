// One file has one content, one inode number and one type, however its path is spelled.
#include "tests/process/spellings.h"

int main(void) {
  make_links();
  struct stat expected, status;
  EXPECT(stat("/proc/version", &expected) == 0);
  char content[256], bytes[256];
  const int direct = open("/proc/version", O_RDONLY);
  const ssize_t size = read(direct, content, sizeof content);
  EXPECT(size > 0 && close(direct) == 0);
  for (int i = 0; i < kSpellings; ++i) {
    int folder;
    const char* const path = spell(i, "version", &folder);
    const int fd = openat(folder, path, O_RDONLY);
    if (fd < 0) printf("%s: open: %s\n", spellings[i].path, strerror(errno));
    EXPECT(fd >= 0 && read(fd, bytes, sizeof bytes) == size && memcmp(content, bytes, (size_t)size) == 0);
    EXPECT(fstat(fd, &status) == 0 && status.st_ino == expected.st_ino && status.st_dev == expected.st_dev);
    EXPECT(close(fd) == 0);
    EXPECT(fstatat(folder, path, &status, 0) == 0 && status.st_ino == expected.st_ino);
    EXPECT(fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_ino == expected.st_ino);
    EXPECT(faccessat(folder, path, R_OK, 0) == 0);
    EXPECT(readlinkat(folder, path, bytes, sizeof bytes) == -1 && errno == EINVAL);
    EXPECT(fstatat(folder, spell(i, "version/more", &folder), &status, 0) == -1 && errno == ENOTDIR);
    EXPECT(fstatat(folder, spell(i, "self/root" "/etc", &folder), &status, 0) == 0 && S_ISDIR(status.st_mode));
  }
  EXPECT(chdir("/proc/self/task") == 0 && getcwd(bytes, sizeof bytes) != NULL);
  char name[64];
  snprintf(name, sizeof name, "/proc/%d/task", getpid());
  printf("works in the tasks: %d\n", strcmp(bytes, name) == 0);
  EXPECT(chdir("../../..") == 0 && getcwd(bytes, sizeof bytes) != NULL && strcmp(bytes, "/") == 0);
  const int sys = open("/sys/class/net", O_RDONLY | O_DIRECTORY);
  EXPECT(fchdir(sys) == 0 && getcwd(bytes, sizeof bytes) != NULL && strcmp(bytes, "/sys/class/net") == 0);
  EXPECT(access("lo/mtu", R_OK) == 0 && access("../net/lo/mtu", R_OK) == 0);
  EXPECT(close(sys) == 0);
  remove_links();
  printf("%s\n", kSpellings >= 40 ? "all spellings are one" : "too few");
  return 0;
}
