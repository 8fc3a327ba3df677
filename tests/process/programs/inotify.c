// inotify: every kind of event, their order and merging, every flag of a watch, events of a file's last
// close, rename and removal, and no events for unwatched files.
#include <dirent.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utime.h>

#include "../expect.h"

static char events[1 << 16];
static uint32_t last_cookie;
static char* volatile nowhere = (char*)8;

static const struct {
  uint32_t bit;
  const char* name;
} kBits[] = {{IN_ACCESS, "ACCESS"},       {IN_MODIFY, "MODIFY"},           {IN_ATTRIB, "ATTRIB"},
             {IN_CLOSE_WRITE, "CLOSE_WRITE"}, {IN_CLOSE_NOWRITE, "CLOSE_NOWRITE"}, {IN_OPEN, "OPEN"},
             {IN_MOVED_FROM, "MOVED_FROM"}, {IN_MOVED_TO, "MOVED_TO"},     {IN_CREATE, "CREATE"},
             {IN_DELETE, "DELETE"},       {IN_DELETE_SELF, "DELETE_SELF"}, {IN_MOVE_SELF, "MOVE_SELF"},
             {IN_IGNORED, "IGNORED"},     {IN_Q_OVERFLOW, "Q_OVERFLOW"},   {IN_ISDIR, "ISDIR"}};

static void print_events(const char* bytes, ssize_t size) {
  for (ssize_t at = 0; at < size;) {
    const struct inotify_event* event = (const struct inotify_event*)(bytes + at);
    printf(" %d", event->wd);
    uint32_t rest = event->mask;
    for (size_t i = 0; i < sizeof kBits / sizeof *kBits; ++i) {
      if ((event->mask & kBits[i].bit) == 0) continue;
      printf(" %s", kBits[i].name);
      rest &= ~kBits[i].bit;
    }
    EXPECT(rest == 0);
    if (event->cookie != 0) {
      printf(event->cookie == last_cookie ? " (the same renaming)" : " (a renaming)");
      last_cookie = event->cookie;
    }
    if (event->len != 0) printf(" %s/%u", event->name, event->len);
    printf(";");
    at += (ssize_t)sizeof *event + event->len;
  }
}

static void tell(int fd, const char* what) {
  printf("%s:", what);
  ssize_t n;
  while ((n = read(fd, events, sizeof events)) > 0) print_events(events, n);
  EXPECT(n == -1 && errno == EAGAIN);
  printf("\n");
}

static int made(const char* name) {
  const int file = open(name, O_RDWR | O_CREAT, 0644);
  EXPECT(file >= 0);
  return file;
}

static void names_in_a_folder(int fd) {
  EXPECT(inotify_add_watch(fd, ".", IN_ALL_EVENTS) == 1);
  const int file = made("a");
  EXPECT(write(file, "1", 1) == 1 && write(file, "2", 1) == 1 && write(file, "3", 1) == 1);
  tell(fd, "create and write three times");
  EXPECT(write(file, "4", 1) == 1);
  char byte;
  EXPECT(pread(file, &byte, 1, 0) == 1 && write(file, "5", 1) == 1);
  EXPECT(close(file) == 0);
  tell(fd, "write, read, write, close");
  EXPECT(rename("a", "a file with a longer name") == 0);
  EXPECT(link("a file with a longer name", "b") == 0 && symlink("b", "c") == 0);
  tell(fd, "rename, link, symlink");
  EXPECT(mkdir("folder", 0755) == 0 && rename("b", "folder/b") == 0);
  tell(fd, "mkdir, rename into it");
  EXPECT(rename("folder/b", "b") == 0 && rename("folder", "other") == 0 && rmdir("other") == 0);
  tell(fd, "and out of it, rename it, rmdir");
  EXPECT(chmod("b", 0600) == 0 && truncate("b", 100) == 0 && utime("b", NULL) == 0);
  tell(fd, "chmod, truncate, utime");
  EXPECT(chown("b", getuid(), -1) == 0 && chown("b", -1, -1) == 0 && lchown("c", -1, getgid()) == 0);
  tell(fd, "chown, chown of nothing, lchown");
  struct timespec times[2] = {{0, UTIME_OMIT}, {5, 0}};
  EXPECT(utimensat(AT_FDCWD, "b", times, 0) == 0);
  tell(fd, "utimensat of the change");
  times[0] = times[1];
  times[1].tv_nsec = UTIME_OMIT;
  EXPECT(utimensat(AT_FDCWD, "b", times, 0) == 0);
  tell(fd, "utimensat of the access");
  times[0].tv_nsec = UTIME_OMIT;
  EXPECT(utimensat(AT_FDCWD, "b", times, 0) == 0);
  tell(fd, "utimensat of neither");
  struct stat status;
  EXPECT(stat("b", &status) == 0 && access("b", R_OK) == 0 && readlink("c", events, 10) == 1);
  tell(fd, "stat, access, readlink");
  const int again = open("b", O_WRONLY | O_TRUNC);
  EXPECT(again >= 0 && fstat(again, &status) == 0 && lseek(again, 0, SEEK_END) == 0 && fsync(again) == 0);
  tell(fd, "open with O_TRUNC, fstat, lseek, fsync");
  const int copy = dup(again);
  EXPECT(close(again) == 0);
  tell(fd, "close one of two");
  EXPECT(dup2(0, copy) == copy && close(copy) == 0);
  tell(fd, "dup2 in place of the other");
  DIR* folder = opendir(".");
  EXPECT(folder != NULL);
  while (readdir(folder) != NULL) {}
  EXPECT(closedir(folder) == 0);
  tell(fd, "read the folder");
  EXPECT(mkfifo("pipe", 0600) == 0);
  struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "socket"};
  const int named = socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT(bind(named, (struct sockaddr*)&name, sizeof name) == 0 && close(named) == 0);
  tell(fd, "mkfifo, bind");
  EXPECT(unlink("pipe") == 0 && unlink("socket") == 0 && unlink("c") == 0 && unlink("b") == 0);
  EXPECT(open("nothing", O_RDONLY) == -1 && unlink("nothing") == -1 && open("nothing/x", O_CREAT, 0600) == -1);
  tell(fd, "unlink");
  EXPECT(inotify_rm_watch(fd, 1) == 0 && inotify_rm_watch(fd, 1) == -1 && errno == EINVAL);
  EXPECT(close(made("unseen")) == 0 && unlink("unseen") == 0);
  tell(fd, "remove the watch");
  EXPECT(unlink("a file with a longer name") == 0);
}

static void ways_to_read_and_write(int fd) {
  const int in = made("in"), out = made("out");
  EXPECT(write(in, "0123456789", 10) == 10 && lseek(in, 0, SEEK_SET) == 0);
  const int wd_in = inotify_add_watch(fd, "in", IN_ALL_EVENTS), wd_out = inotify_add_watch(fd, "out", IN_ALL_EVENTS);
  printf("watches %d and %d\n", wd_in, wd_out);
  EXPECT(sendfile(out, in, NULL, 4) == 4);
  tell(fd, "sendfile");
  loff_t from = 0, to = 4;
  EXPECT(copy_file_range(in, &from, out, &to, 4, 0) == 4);
  tell(fd, "copy_file_range");
  EXPECT(ftruncate(out, 2) == 0);
  tell(fd, "ftruncate");
  EXPECT(fchmod(out, 0600) == 0 && fchown(out, getuid(), getgid()) == 0 && futimens(out, NULL) == 0);
  tell(fd, "fchmod, fchown, futimens");
  EXPECT(pwrite(out, "xyz", 3, 0) == 3 && posix_fallocate(out, 0, 4096) == 0);
  tell(fd, "pwrite, posix_fallocate");
  int pipes[2];
  EXPECT(pipe(pipes) == 0 && sendfile(pipes[1], in, &from, 4) == 4 && close(pipes[0]) == 0 && close(pipes[1]) == 0);
  tell(fd, "sendfile into a pipe");
  // A mapping keeps the file open.
  char* memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, out, 0);
  EXPECT(memory != MAP_FAILED && close(out) == 0);
  memory[0] = 'm';
  tell(fd, "mmap, close, store");
  EXPECT(munmap(memory, 4096) == 0 && access("out", F_OK) == 0);
  tell(fd, "munmap");
  // So does a message with its descriptor.
  int ends[2];
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  char byte = 0;
  struct iovec part = {&byte, 1};
  union {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
  } control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
  memcpy(CMSG_DATA(&control.head), &in, sizeof in);
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  EXPECT(sendmsg(ends[0], &message, 0) == 1 && close(in) == 0);
  tell(fd, "send the descriptor and close it");
  EXPECT(recvmsg(ends[1], &message, 0) == 1 && message.msg_controllen >= CMSG_LEN(sizeof(int)));
  int got;
  memcpy(&got, CMSG_DATA(&control.head), sizeof got);
  EXPECT(got >= 0 && close(got) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
  tell(fd, "receive and close it");
  EXPECT(inotify_rm_watch(fd, wd_in) == 0 && inotify_rm_watch(fd, wd_out) == 0);
  tell(fd, "remove the watches");
  EXPECT(unlink("in") == 0 && unlink("out") == 0);
}

static void the_file_itself(int fd) {
  int file = made("self");
  const int wd = inotify_add_watch(fd, "self", IN_ALL_EVENTS);
  EXPECT(inotify_add_watch(fd, "./self", IN_ALL_EVENTS) == wd);
  EXPECT(rename("self", "moved") == 0 && link("moved", "second") == 0);
  tell(fd, "rename and link a watched file");
  EXPECT(inotify_add_watch(fd, "second", IN_ALL_EVENTS) == wd && unlink("moved") == 0);
  tell(fd, "unlink one of its names");
  EXPECT(unlink("second") == 0);
  tell(fd, "and the other, while it is open");
  EXPECT(write(file, "x", 1) == 1 && close(file) == 0);
  tell(fd, "write and close it");
  EXPECT(inotify_rm_watch(fd, wd) == -1 && errno == EINVAL);
  EXPECT(mkdir("folder", 0700) == 0);
  const int folder = inotify_add_watch(fd, "folder", IN_ALL_EVENTS);
  EXPECT(close(made("folder/x")) == 0 && unlink("folder/x") == 0 && rmdir("folder") == 0);
  tell(fd, "a folder, its last file, and itself");
  EXPECT(folder == wd + 1);
  file = made("old");
  EXPECT(close(file) == 0 && close(made("new")) == 0);
  EXPECT(inotify_add_watch(fd, "old", IN_ALL_EVENTS) == folder + 1 && inotify_add_watch(fd, "new", IN_ALL_EVENTS) == folder + 2);
  EXPECT(rename("new", "old") == 0);
  tell(fd, "rename onto a watched file");
  EXPECT(unlink("old") == 0);
  tell(fd, "unlink the other");
}

static void flags_of_watches(int fd) {
  const int file = made("file");
  EXPECT(symlink("file", "link") == 0 && mkdir("folder", 0755) == 0);
  int wd = inotify_add_watch(fd, "file", IN_MODIFY);
  EXPECT(write(file, "x", 1) == 1 && fchmod(file, 0600) == 0);
  tell(fd, "only what is asked for");
  EXPECT(inotify_add_watch(fd, "file", IN_ATTRIB | IN_MASK_ADD) == wd);
  EXPECT(write(file, "x", 1) == 1 && fchmod(file, 0644) == 0);
  tell(fd, "IN_MASK_ADD");
  EXPECT(inotify_add_watch(fd, "file", IN_ATTRIB) == wd);
  EXPECT(write(file, "x", 1) == 1 && fchmod(file, 0644) == 0);
  tell(fd, "in place of what there was");
  EXPECT(inotify_add_watch(fd, "file", IN_ATTRIB | IN_MASK_CREATE) == -1 && errno == EEXIST);
  EXPECT(inotify_add_watch(fd, "file", IN_ATTRIB | IN_MASK_CREATE | IN_MASK_ADD) == -1 && errno == EINVAL);
  EXPECT(inotify_add_watch(fd, "file", IN_ATTRIB | IN_ONLYDIR) == -1 && errno == ENOTDIR);
  EXPECT(inotify_add_watch(fd, "link", IN_ATTRIB) == wd);
  const int link = inotify_add_watch(fd, "link", IN_ALL_EVENTS | IN_DONT_FOLLOW);
  EXPECT(link != wd && lchown("link", getuid(), -1) == 0 && unlink("link") == 0);
  tell(fd, "IN_DONT_FOLLOW");
  EXPECT(inotify_rm_watch(fd, wd) == 0);
  tell(fd, "remove");
  wd = inotify_add_watch(fd, "file", IN_MODIFY | IN_ONESHOT);
  EXPECT(fchmod(file, 0600) == 0 && write(file, "1", 1) == 1 && pwrite(file, "2", 1, 0) == 1);
  tell(fd, "IN_ONESHOT");
  EXPECT(inotify_rm_watch(fd, wd) == -1 && errno == EINVAL);
  wd = inotify_add_watch(fd, "file", IN_MODIFY | IN_ONESHOT);
  EXPECT(inotify_add_watch(fd, "file", IN_ATTRIB | IN_MASK_ADD) == wd && fchmod(file, 0644) == 0 && write(file, "3", 1) == 1);
  tell(fd, "IN_ONESHOT and IN_MASK_ADD");
  wd = inotify_add_watch(fd, "file", IN_MODIFY | IN_ONESHOT);
  EXPECT(inotify_add_watch(fd, "file", IN_ATTRIB) == wd && fchmod(file, 0600) == 0 && fchmod(file, 0644) == 0);
  tell(fd, "IN_ONESHOT taken back");
  wd = inotify_add_watch(fd, "folder", IN_ONESHOT | IN_ONLYDIR | IN_CREATE);
  EXPECT(close(made("folder/x")) == 0 && close(made("folder/y")) == 0);
  tell(fd, "IN_ONESHOT of a folder");
  for (int excludes = 0; excludes < 2; ++excludes) {
    wd = inotify_add_watch(fd, "folder", IN_MODIFY | IN_CLOSE | (excludes ? IN_EXCL_UNLINK : 0));
    const int x = made("folder/x");
    EXPECT(write(x, "1", 1) == 1 && unlink("folder/x") == 0 && write(x, "2", 1) == 1 && close(x) == 0);
    tell(fd, excludes ? "IN_EXCL_UNLINK" : "a file without a name");
    EXPECT(inotify_rm_watch(fd, wd) == 0);
  }
  tell(fd, "remove");
  EXPECT(unlink("folder/y") == 0 && rmdir("folder") == 0 && close(file) == 0 && unlink("file") == 0);
  tell(fd, "and the file");
}

static void errors(int fd) {
  EXPECT(inotify_init1(1) == -1 && errno == EINVAL);
  EXPECT(inotify_add_watch(fd, ".", 0) == -1 && errno == EINVAL);
  EXPECT(inotify_add_watch(-1, ".", IN_OPEN) == -1 && errno == EBADF);
  EXPECT(inotify_add_watch(700, ".", IN_OPEN) == -1 && errno == EBADF);
  EXPECT(inotify_rm_watch(700, 1) == -1 && errno == EBADF);
  int ends[2];
  EXPECT(pipe(ends) == 0 && inotify_add_watch(ends[0], ".", IN_OPEN) == -1 && errno == EINVAL);
  EXPECT(inotify_rm_watch(ends[0], 1) == -1 && errno == EINVAL && close(ends[0]) == 0 && close(ends[1]) == 0);
  const int file = made("f");
  EXPECT(inotify_add_watch(file, ".", IN_OPEN) == -1 && errno == EINVAL && close(file) == 0);
  EXPECT(inotify_add_watch(fd, "nothing", IN_OPEN) == -1 && errno == ENOENT);
  EXPECT(inotify_add_watch(fd, "", IN_OPEN) == -1 && errno == ENOENT);
  EXPECT(inotify_add_watch(fd, "f/x", IN_OPEN) == -1 && errno == ENOTDIR);
  EXPECT(inotify_add_watch(fd, "f/", IN_OPEN) == -1 && errno == ENOTDIR);
  EXPECT(inotify_add_watch(fd, nowhere, IN_OPEN) == -1 && errno == EFAULT);
  EXPECT(inotify_rm_watch(fd, 9999) == -1 && errno == EINVAL && inotify_rm_watch(fd, -1) == -1 && errno == EINVAL);
  EXPECT(write(fd, "x", 1) == -1 && errno == EBADF && read(fd, events, 0) == -1 && errno == EAGAIN);
  const int wd = inotify_add_watch(fd, "f", IN_ATTRIB);
  const int folder = inotify_add_watch(fd, ".", IN_DELETE);
  EXPECT(chmod("f", 0600) == 0 && unlink("f") == 0);
  int bytes = 0;
  EXPECT(ioctl(fd, FIONREAD, &bytes) == 0);
  printf("%d bytes\n", bytes);
  EXPECT(read(fd, events, 15) == -1 && errno == EINVAL);
  ssize_t n = read(fd, events, 40);
  printf("so many fit in 40: %zd:", n);
  print_events(events, n);
  EXPECT(read(fd, events, 16) == -1 && errno == EINVAL);
  printf("\n");
  tell(fd, "the rest");
  EXPECT(folder > wd && inotify_rm_watch(fd, folder) == 0 && inotify_rm_watch(fd, wd) == -1);
  tell(fd, "done");
}

// Two descriptors get the same events.
static void several(int fd) {
  const int other = inotify_init1(IN_NONBLOCK);
  EXPECT(other >= 0 && mkdir("p", 0755) == 0 && mkdir("q", 0755) == 0);
  printf("numbers of the other: %d", inotify_add_watch(other, "q", IN_ALL_EVENTS));
  printf(" %d\n", inotify_add_watch(other, "p", IN_MOVE));
  const int p = inotify_add_watch(fd, "p", IN_ALL_EVENTS), q = inotify_add_watch(fd, "q", IN_MOVE);
  EXPECT(close(made("p/x")) == 0 && rename("p/x", "q/y") == 0);
  tell(fd, "first");
  tell(other, "second");
  EXPECT(unlink("q/y") == 0 && inotify_rm_watch(fd, p) == 0 && inotify_rm_watch(fd, q) == 0);
  tell(fd, "first");
  EXPECT(close(other) == 0 && rmdir("p") == 0 && rmdir("q") == 0);
}

static void too_many(int fd) {
  FILE* limit = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
  int most = 0;
  EXPECT(limit != NULL && fscanf(limit, "%d", &most) == 1 && fclose(limit) == 0);
  const int file = made("f");
  const int wd = inotify_add_watch(fd, "f", IN_ATTRIB | IN_MODIFY);
  for (int i = 0; i < most / 2 + 10; ++i) EXPECT(pwrite(file, "x", 1, 0) == 1 && fchmod(file, 0644) == 0);
  int count = 0, lost = 0;
  ssize_t n;
  while ((n = read(fd, events, sizeof events)) > 0) {
    for (ssize_t at = 0; at < n; at += (ssize_t)sizeof(struct inotify_event), ++count) {
      const struct inotify_event* event = (const struct inotify_event*)(events + at);
      EXPECT(event->len == 0 && lost == 0);
      if (event->mask == IN_Q_OVERFLOW) lost = event->wd == -1;
    }
  }
  printf("beyond the most: %d, and %d to say so\n", count - most, lost);
  EXPECT(fchmod(file, 0600) == 0 && inotify_rm_watch(fd, wd) == 0);
  tell(fd, "and then");
  EXPECT(close(file) == 0 && unlink("f") == 0);
}

int main(void) {
  char folder[] = "/tmp/inotify-XXXXXX", text[64];
  EXPECT(mkdtemp(folder) != NULL && chdir(folder) == 0);
  int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  EXPECT(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC && (fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK)) == O_NONBLOCK);
  snprintf(text, sizeof text, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(text, events, sizeof events);
  printf("%.*s\n", (int)n, events);
  names_in_a_folder(fd);
  ways_to_read_and_write(fd);
  the_file_itself(fd);
  flags_of_watches(fd);
  errors(fd);
  EXPECT(close(fd) == 0);
  fd = inotify_init();
  EXPECT(fd >= 0 && fcntl(fd, F_GETFD) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
  several(fd);
  too_many(fd);
  EXPECT(chdir("/") == 0 && inotify_add_watch(fd, folder, IN_DELETE_SELF) > 0 && rmdir(folder) == 0);
  tell(fd, "the folder itself");
  return 0;
}
