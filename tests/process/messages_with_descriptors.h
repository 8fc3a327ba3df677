// For the small programs: messages that contain descriptors.
#pragma once

#include <sys/socket.h>

#include "tests/process/expect.h"

enum { kMostDescriptors = 8 };

// Returns the result of sendmsg(2).
static inline ssize_t send_descriptors(int socket, const char* text, const int* fds, int count) {
  char control[CMSG_SPACE(sizeof(int) * kMostDescriptors)] = {0};
  struct iovec part = {(char*)text, strlen(text)};
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = control,
                           .msg_controllen = CMSG_SPACE(sizeof(int) * count)};
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int) * count);
  memcpy(CMSG_DATA(header), fds, sizeof(int) * count);
  return sendmsg(socket, &message, 0);
}

struct received {
  char text[64];
  int fds[kMostDescriptors];
  int count;  // number of descriptors
  int flags;  // MSG_CTRUNC, MSG_TRUNC
};

// Receives a message of at most `length` bytes with space for `room` descriptors.
static inline struct received receive_descriptors(int socket, size_t length, int room, int flags) {
  struct received got = {.count = 0};
  char control[CMSG_SPACE(sizeof(int) * kMostDescriptors)];
  struct iovec part = {got.text, length};
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = control,
                           .msg_controllen = room > 0 ? CMSG_LEN(sizeof(int) * room) : 0};
  EXPECT(recvmsg(socket, &message, flags) >= 0);
  got.flags = message.msg_flags & (MSG_CTRUNC | MSG_TRUNC);
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == NULL) return got;
  EXPECT(header->cmsg_type == SCM_RIGHTS);
  got.count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  memcpy(got.fds, CMSG_DATA(header), sizeof(int) * got.count);
  return got;
}
