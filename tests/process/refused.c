// Calls that the simulation does not know: they fail cleanly and the program goes on.
#include <linux/futex.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "expect.h"

static void report(const char* name, long result) {
  printf("%s: %s\n", name, result == -1 ? strerrorname_np(errno) : "success");
}

static long send_file(int file) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return -1;
  char byte = 'x', control[CMSG_SPACE(sizeof file)] = {0};
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof file);
  memcpy(CMSG_DATA(header), &file, sizeof file);
  return sendmsg(ends[0], &message, 0);
}

int main(void) {
  char parameters[256] = {0};
  report("io_uring_setup", syscall(425, 8, parameters));
  report("inotify_init1", inotify_init1(0));
  report("shmget", shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600));
  int word = 0, other = 0;
  report("futex_waitv", syscall(449, NULL, 0, 0, NULL, 0));
  report("FUTEX_WAIT_REQUEUE_PI", syscall(SYS_futex, &word, FUTEX_WAIT_REQUEUE_PI, 0, NULL, &other, 0));
  const int pair[2] = {socket(AF_INET, SOCK_STREAM, 0), memfd_create("file", 0)};
  report("send of urgent data", send(pair[0], "x", 1, MSG_OOB));
  report("real file over a socket", send_file(pair[1]));
  report("9999", syscall(9999));
  report("511", syscall(511));
  report("9999 again", syscall(9999));
  printf("and on\n");
  return 0;
}
