// Real files on their way between processes. The simulator takes them from the sender's descriptor table
// (pidfd_getfd: the sender is its child), keeps them while the message is under way, and leaves them in a socket that
// every process has at kPassageFd: whoever gets the token next, with the message, fetches them there.
#pragma once

#include <sys/types.h>

#include <memory>

namespace verbatim::supervisor {

// The simulator's own descriptor of an open file of some process's: the same position, flags and locks.
class RealFile {
 public:
  explicit RealFile(int fd) : fd_(fd) {}
  ~RealFile();
  RealFile(const RealFile&) = delete;
  RealFile& operator=(const RealFile&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

// nullptr and an errno in `error` when it cannot be had.
std::shared_ptr<const RealFile> take_file(pid_t native_pid, int fd, int* error);

class Passage {
 public:
  Passage();
  ~Passage();
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;

  // For the processes.
  int far_end() const { return ends_[1]; }
  // False: Linux has no room for more.
  bool put(const RealFile& file);
  // Nobody fetches what is left there.
  void clear();

 private:
  int ends_[2];
};

}  // namespace verbatim::supervisor
