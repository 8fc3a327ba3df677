// A simulated program's address space, reached with process_vm_readv and process_vm_writev: what DMA does to memory.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "sim/host/program_memory.h"

namespace verbatim::supervisor {

class ProcessMemory final : public host::ProgramMemory {
 public:
  explicit ProcessMemory(pid_t pid) : pid_(pid) {}
  ~ProcessMemory() override;

  bool read(host::ProgramAddress from, std::span<std::byte> to) override;
  bool write(host::ProgramAddress to, std::span<const std::byte> from) override;
  bool is_mapped(host::ProgramAddress start, std::uint64_t length, bool writable) override;

  template <class T>
  std::optional<T> load(host::ProgramAddress from) {
    T value;
    if (!read(from, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
    return value;
  }
  template <class T>
  bool store(host::ProgramAddress to, const T& value) {
    return write(to, std::as_bytes(std::span(&value, 1)));
  }
  // A string of at most `limit` bytes before its terminating zero; nullopt when unmapped or longer.
  std::optional<std::string> load_string(host::ProgramAddress from, std::size_t limit);

 private:
  // Pages are written despite their protection through /proc/PID/mem, as a pinned page is by an adapter.
  bool write_protected_page(host::ProgramAddress to, std::span<const std::byte> from);

  pid_t pid_;
  int mem_fd_ = -1;
};

}  // namespace verbatim::supervisor
