#include "sim/supervisor/files/passage.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace verbatim::supervisor {

namespace {

// A message of one byte, with room for one descriptor.
struct FileMessage {
  FileMessage() {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
  FileMessage(const FileMessage&) = delete;
  FileMessage& operator=(const FileMessage&) = delete;

  char byte = 0;
  iovec part = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
};

}  // namespace

RealFile::~RealFile() { close(fd_); }

Passage::Passage() {
  // One message for each file: the receiver gets each at its lowest free number.
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends_) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot make the sockets that pass files to programs");
}

Passage::~Passage() {
  close(ends_[0]);
  close(ends_[1]);
}

bool Passage::put(const RealFile& file) {
  FileMessage message;
  cmsghdr* const rights = CMSG_FIRSTHDR(&message.header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = file.fd();
  std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  return sendmsg(ends_[0], &message.header, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

int Passage::take() {
  FileMessage message;
  if (recvmsg(ends_[0], &message.header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0) return -1;
  if (message.header.msg_controllen < CMSG_LEN(sizeof(int))) return -1;
  int fd;
  std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message.header)), sizeof fd);
  return fd;
}

void Passage::clear() {
  char byte;
  while (recv(ends_[1], &byte, 1, MSG_DONTWAIT) >= 0) {
  }
}

}  // namespace verbatim::supervisor
