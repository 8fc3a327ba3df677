// signalfd(2). The supervisor keeps the signals in its set that are masked until they are read, awaited or
// unmasked.
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
  SignalFile* as_signal_file() override { return this; }
  // Returns as many pending signals as fit, each as struct signalfd_siginfo.
  IoResult read(std::size_t limit, std::vector<std::byte>& bytes) override;

  std::uint64_t set() const { return set_; }
  void replace_set(std::uint64_t set);
  void changed() { notify(); }

 private:
  Process& process_;
  std::uint64_t set_;
};

}  // namespace verbatim::supervisor
