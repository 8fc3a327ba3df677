#include "sim/supervisor/files/passage.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sim/core/check.h"

namespace verbatim::supervisor {

RealFile::~RealFile() { close(fd_); }

std::shared_ptr<const RealFile> take_file(pid_t native_pid, int fd, int* error) {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, native_pid, 0));
  const int copy = process < 0 ? -1 : static_cast<int>(syscall(SYS_pidfd_getfd, process, fd, 0));
  *error = errno;
  if (process >= 0) close(process);
  return copy < 0 ? nullptr : std::make_shared<const RealFile>(copy);
}

Passage::Passage() {
  // One message for each file, so that the receiver has the next one at its lowest free number.
  const int made = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends_);
  CHECK(made == 0);
}

Passage::~Passage() {
  close(ends_[0]);
  close(ends_[1]);
}

bool Passage::put(const RealFile& file) {
  char byte = 0;
  iovec part = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = file.fd();
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  return sendmsg(ends_[0], &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

void Passage::clear() {
  char byte;
  while (recv(ends_[1], &byte, 1, MSG_DONTWAIT) >= 0) {
  }
}

}  // namespace verbatim::supervisor
