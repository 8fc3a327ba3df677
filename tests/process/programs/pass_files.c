// Real files in messages: their position is shared, numbers are the lowest free ones, among sockets and pipes too; what
// finds no room or is never received is closed.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/process/messages_with_descriptors.h"

static int pair[2];

static void print(const char* what, const struct received* got) {
  printf("%s: \"%s\"", what, got->text);
  for (int i = 0; i < got->count; ++i) printf(" %d", got->fds[i]);
  printf("%s%s\n", got->flags & MSG_CTRUNC ? " MSG_CTRUNC" : "", got->flags & MSG_TRUNC ? " MSG_TRUNC" : "");
}

static int file_with(const char* text) {
  const int fd = memfd_create("file", 0);
  EXPECT(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && lseek(fd, 0, SEEK_SET) == 0);
  return fd;
}

// The same file, opened once more: it can be locked when the other is not open any more.
static int open_again(int fd) {
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const int again = open(path, O_RDWR);
  EXPECT(again >= 0);
  return again;
}

static int lock_is_free(int again) {
  const int free = flock(again, LOCK_EX | LOCK_NB) == 0;
  EXPECT(flock(again, LOCK_UN) == 0);
  return free;
}

static void share_a_position(void) {
  const int file = file_with("0123456789");
  char bytes[4] = "";
  EXPECT(read(file, bytes, 2) == 2);
  EXPECT(send_descriptors(pair[0], "file", &file, 1) == 4);
  const struct received got = receive_descriptors(pair[1], 63, 8, 0);
  print("a file", &got);
  EXPECT(got.fds[0] != file && fcntl(got.fds[0], F_GETFD) == 0);
  EXPECT(read(got.fds[0], bytes, 3) == 3 && lseek(file, 0, SEEK_CUR) == 5);
  struct stat one, other;
  EXPECT(fstat(file, &one) == 0 && fstat(got.fds[0], &other) == 0 && one.st_ino == other.st_ino);
  EXPECT(fcntl(file, F_SETFL, O_APPEND) == 0 && (fcntl(got.fds[0], F_GETFL) & O_APPEND) != 0);
  EXPECT(close(file) == 0 && write(got.fds[0], "!", 1) == 1 && close(got.fds[0]) == 0);
}

// Numbers as Linux gives them out: each descriptor in turn the lowest free one, real or not.
static void mix(void) {
  int ends[2];
  const int first = file_with("first"), second = open("/dev/null", O_RDWR);
  EXPECT(pipe(ends) == 0 && write(ends[1], "pipe", 4) == 4);
  const int sent[] = {ends[0], first, ends[1], second, pair[0]};
  EXPECT(send_descriptors(pair[0], "mix", sent, 5) == 3);
  for (int i = 0; i < 4; ++i) EXPECT(close(sent[i]) == 0);
  const struct received got = receive_descriptors(pair[1], 63, 8, MSG_CMSG_CLOEXEC);
  print("a mix", &got);
  char bytes[8] = "";
  for (int i = 0; i < 5; ++i) EXPECT(fcntl(got.fds[i], F_GETFD) == FD_CLOEXEC);
  EXPECT(read(got.fds[0], bytes, 8) == 4 && memcmp(bytes, "pipe", 4) == 0);
  EXPECT(read(got.fds[1], bytes, 8) == 5 && memcmp(bytes, "first", 5) == 0);
  EXPECT(write(got.fds[2], "x", 1) == 1 && read(got.fds[0], bytes, 8) == 1);
  EXPECT(read(got.fds[3], bytes, 8) == 0 && write(got.fds[4], "y", 1) == 1 && read(pair[1], bytes, 8) == 1);
  for (int i = 0; i < 5; ++i) EXPECT(close(got.fds[i]) == 0);
}

static void find_no_room(void) {
  const int file = file_with(""), again = open_again(file), other = open("/dev/zero", O_RDONLY);
  EXPECT(flock(file, LOCK_EX) == 0 && !lock_is_free(again));
  const int sent[] = {other, file};
  EXPECT(send_descriptors(pair[0], "two", sent, 2) == 3 && close(file) == 0);
  EXPECT(!lock_is_free(again));
  struct received got = receive_descriptors(pair[1], 63, 1, 0);
  print("room for one", &got);
  EXPECT(close(got.fds[0]) == 0 && lock_is_free(again));
  EXPECT(send_descriptors(pair[0], "one", &other, 1) == 3);
  got = receive_descriptors(pair[1], 63, 0, 0);
  print("room for none", &got);
  EXPECT(send_descriptors(pair[0], "read", &other, 1) == 4 && read(pair[1], got.text, 8) == 4);
  EXPECT(close(other) == 0 && close(again) == 0);
}

// Open and locked while in flight, closed with the socket that holds it.
static void never_received(void) {
  const int file = file_with(""), again = open_again(file);
  int ends[2];
  EXPECT(flock(file, LOCK_EX) == 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
  EXPECT(send_descriptors(ends[0], "lost", &file, 1) == 4 && close(file) == 0 && close(ends[0]) == 0);
  EXPECT(!lock_is_free(again));
  EXPECT(close(ends[1]) == 0 && lock_is_free(again) && close(again) == 0);
  printf("never received: closed\n");
}

// Bytes before descriptors arrive with them, bytes after them do not.
static void among_bytes(void) {
  const int file = memfd_create("file", 0);
  EXPECT(write(pair[0], "be", 2) == 2 && send_descriptors(pair[0], "fore", &file, 1) == 4);
  EXPECT(send_descriptors(pair[0], "again", &file, 1) == 5 && write(pair[0], "behind", 6) == 6);
  struct received got = receive_descriptors(pair[1], 63, 8, MSG_PEEK);
  print("looked at", &got);
  close(got.fds[0]);
  got = receive_descriptors(pair[1], 63, 8, 0);
  print("before", &got);
  close(got.fds[0]);
  got = receive_descriptors(pair[1], 2, 8, 0);
  print("a part of it", &got);
  close(got.fds[0]);
  got = receive_descriptors(pair[1], 9, 8, MSG_WAITALL);
  print("the rest", &got);
  EXPECT(send_descriptors(pair[0], "whole", &file, 1) == 5 && write(pair[0], "more", 4) == 4);
  got = receive_descriptors(pair[1], 9, 8, MSG_WAITALL);
  print("asked for all", &got);
  close(got.fds[0]);
  got = receive_descriptors(pair[1], 63, 8, 0);
  print("all", &got);
  close(file);
}

static void several_messages(void) {
  int ends[2], fds[2] = {memfd_create("one", 0), memfd_create("other", 0)};
  EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
  EXPECT(send_descriptors(ends[0], "one", fds, 1) == 3 && send_descriptors(ends[0], "both", fds, 2) == 4);
  char control[2][CMSG_SPACE(sizeof(int) * 2)], text[2][8];
  struct iovec parts[] = {{text[0], 8}, {text[1], 8}};
  struct mmsghdr messages[2];
  for (int i = 0; i < 2; ++i) {
    messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i],
                                          .msg_iovlen = 1,
                                          .msg_control = control[i],
                                          .msg_controllen = sizeof control[i]};
  }
  EXPECT(recvmmsg(ends[1], messages, 2, MSG_WAITFORONE | MSG_CMSG_CLOEXEC, NULL) == 2);
  for (int i = 0; i < 2; ++i) {
    struct cmsghdr* header = CMSG_FIRSTHDR(&messages[i].msg_hdr);
    EXPECT(header != NULL && header->cmsg_type == SCM_RIGHTS);
    const int count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    int got[2];
    memcpy(got, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
    printf("message %d: %u bytes, descriptors", i, messages[i].msg_len);
    for (int k = 0; k < count; ++k) printf(" %d", got[k]);
    printf("\n");
    for (int k = 0; k < count; ++k) EXPECT(fcntl(got[k], F_GETFD) == FD_CLOEXEC && close(got[k]) == 0);
  }
  close(ends[0]), close(ends[1]), close(fds[0]), close(fds[1]);
}

int main(void) {
  for (int fd = 3; fd < 64; ++fd) close(fd);
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  share_a_position();
  mix();
  find_no_room();
  never_received();
  among_bytes();
  several_messages();
  const int bad[] = {0, 1023};
  EXPECT(send_descriptors(pair[0], "x", bad, 2) == -1 && errno == EBADF);
  for (int fd = 5; fd < 64; ++fd) EXPECT(fcntl(fd, F_GETFD) == -1);
  return 0;
}
