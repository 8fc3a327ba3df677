// The file of pidfd_open(2) and clone(CLONE_PIDFD): it names one process for ever, and becomes readable when
// that has ended.
#pragma once

#include <cstdint>
#include <string>

#include "sim/supervisor/files/virtual_file.h"

namespace verbatim::supervisor {

class ProcessFile final : public VirtualFile {
 public:
  explicit ProcessFile(std::uint32_t pid, bool has_ended = false) : pid_(pid), has_ended_(has_ended) {}

  std::uint32_t pid() const { return pid_; }
  std::uint32_t readiness() const override { return has_ended_ ? POLLIN | POLLRDNORM : 0; }
  std::string describe() const override { return "pidfd"; }
  void end() {
    has_ended_ = true;
    notify();
  }

 private:
  const std::uint32_t pid_;
  bool has_ended_;
};

}  // namespace verbatim::supervisor
