// Transfer of real files between processes. The simulator duplicates a file from the sender's descriptor
// table (machine/foreign_descriptors.h), keeps it while the message is in flight, and sends it through a
// socket that every process has at kPassageFd. The process that gets the token next, with the message,
// receives it there.
#pragma once

namespace verbatim::supervisor {

// The simulator's own descriptor of a program's open file, with shared position, flags and locks.
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

  // The processes' end.
  int far_end() const { return ends_[1]; }
  // False: Linux' limit of descriptors in flight is reached.
  bool put(const RealFile& file);
  // Receives a descriptor that a process has sent from its end, or -1.
  int take();
  // Drops descriptors that no process has received.
  void clear();

 private:
  int ends_[2];
};

}  // namespace verbatim::supervisor
