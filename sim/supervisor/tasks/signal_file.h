// Signals as a descriptor: signalfd(2). What its process masks and it is there for is kept by the supervisor
// until it is read, waited for or unmasked.
#pragma once

#include "sim/supervisor/files/virtual_file.h"

namespace verbatim::supervisor {

class Process;

class SignalFile final : public VirtualFile {
 public:
  // `set`: bit n - 1 for signal n.
  SignalFile(Process& process, std::uint64_t set) : process_(process), set_(set) {}

  std::uint32_t readiness() const override;
  std::string describe() const override { return "signalfd"; }
  // As many struct signalfd_siginfo as fit and are there.
  IoResult read(std::size_t limit, std::vector<std::byte>& bytes) override;

  std::uint64_t set() const { return set_; }
  void replace_set(std::uint64_t set);
  void changed() { notify(); }

 private:
  Process& process_;
  std::uint64_t set_;
};

}  // namespace verbatim::supervisor
