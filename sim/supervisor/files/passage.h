// Real files on their way between processes. The simulator takes them from the sender's descriptor table
// (machine/foreign_descriptors.h), keeps them while the message is under way, and leaves them in a socket that
// every process has at kPassageFd: whoever gets the token next, with the message, fetches them there.
#pragma once

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
  // What a process has sent from its end, or -1.
  int take();
  // Nobody fetches what is left there.
  void clear();

 private:
  int ends_[2];
};

}  // namespace verbatim::supervisor
