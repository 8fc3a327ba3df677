// Paths that the host's trees lack do not exist, for any spelling and any call. Simulated only, because machines have them.
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>

#include "tests/process/spellings.h"

typedef int Call(int folder, const char* path);

static int by_open(int folder, const char* path) { return openat(folder, path, O_RDONLY); }
static int by_open_for_writing(int folder, const char* path) { return openat(folder, path, O_WRONLY | O_TRUNC); }
static int by_open_path(int folder, const char* path) { return openat(folder, path, O_PATH); }
static int by_stat(int folder, const char* path) {
  struct stat status;
  return fstatat(folder, path, &status, 0);
}
static int by_lstat(int folder, const char* path) {
  struct stat status;
  return fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW);
}
static int by_statx(int folder, const char* path) {
  struct statx status;
  return statx(folder, path, 0, STATX_ALL, &status);
}
static int by_access(int folder, const char* path) { return faccessat(folder, path, F_OK, 0); }
static int by_readlink(int folder, const char* path) {
  char target[64];
  return (int)readlinkat(folder, path, target, sizeof target);
}
static int by_chmod(int folder, const char* path) { return fchmodat(folder, path, 0600, 0); }
static int by_chown(int folder, const char* path) { return fchownat(folder, path, 0, 0, 0); }
static int by_utimens(int folder, const char* path) { return utimensat(folder, path, NULL, 0); }
static int by_unlink(int folder, const char* path) { return unlinkat(folder, path, 0); }
static int by_rmdir(int folder, const char* path) { return unlinkat(folder, path, AT_REMOVEDIR); }
static int by_rename(int folder, const char* path) { return renameat(folder, path, folder, path); }
static int by_link(int folder, const char* path) { return linkat(folder, path, folder, path, 0); }

// Calls without a folder argument: the path starts at the working directory or at the root.
static int by_truncate(int folder, const char* path) { return folder == AT_FDCWD ? truncate(path, 0) : -2; }
static int by_statfs(int folder, const char* path) {
  struct statfs status;
  return folder == AT_FDCWD ? statfs(path, &status) : -2;
}
static int by_getxattr(int folder, const char* path) {
  char value[8];
  return folder == AT_FDCWD ? (int)getxattr(path, "user.a", value, sizeof value) : -2;
}
static int by_setxattr(int folder, const char* path) {
  return folder == AT_FDCWD ? setxattr(path, "user.a", "b", 1, 0) : -2;
}
static int by_listxattr(int folder, const char* path) {
  char list[8];
  return folder == AT_FDCWD ? (int)listxattr(path, list, sizeof list) : -2;
}
static int by_utime(int folder, const char* path) { return folder == AT_FDCWD ? utime(path, NULL) : -2; }
static int by_chdir(int folder, const char* path) { return folder == AT_FDCWD ? chdir(path) : -2; }
static int by_exec(int folder, const char* path) {
  char* const none[] = {NULL};
  return folder == AT_FDCWD ? execve(path, none, none) : -2;
}

static const struct {
  const char* name;
  Call* call;
} calls[] = {{"open", by_open},         {"open for writing", by_open_for_writing},
             {"open of the path", by_open_path},
             {"stat", by_stat},         {"lstat", by_lstat},
             {"statx", by_statx},       {"access", by_access},
             {"readlink", by_readlink}, {"chmod", by_chmod},
             {"chown", by_chown},       {"utimensat", by_utimens},
             {"unlink", by_unlink},     {"rmdir", by_rmdir},
             {"rename", by_rename},     {"link", by_link},
             {"truncate", by_truncate}, {"statfs", by_statfs},
             {"getxattr", by_getxattr}, {"setxattr", by_setxattr},
             {"listxattr", by_listxattr}, {"utime", by_utime},
             {"chdir", by_chdir},       {"execve", by_exec}};

int main(void) {
  make_links();
  int tried = 0, denied = 0;
  for (int i = 0; i < kSpellings; ++i) {
    for (size_t j = 0; j < sizeof calls / sizeof *calls; ++j) {
      int folder;
      const char* const path = spell(i, "slabinfo", &folder);
      const int result = calls[j].call(folder, path);
      if (result == -2) continue;
      ++tried;
      denied += result == -1 && errno == ENOENT;
      if (result != -1 || errno != ENOENT)
        printf("%s of %s: %s\n", calls[j].name, spellings[i].path, result < 0 ? strerror(errno) : "success");
    }
  }
  // Nothing can be created there.
  int made = 0;
  for (int i = 0; i < kSpellings; ++i) {
    int folder;
    const char* const path = spell(i, "slabinfo", &folder);
    made += mkdirat(folder, path, 0755) == 0 || errno != EACCES;
    made += symlinkat("x", folder, path) == 0 || errno != EACCES;
    made += openat(folder, path, O_CREAT | O_WRONLY, 0600) >= 0 || errno != EACCES;
  }
  remove_links();
  printf("%d of %d denied, %d made\n", denied, tried, made);
  return 0;
}
