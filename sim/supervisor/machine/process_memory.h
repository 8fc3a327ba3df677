// A simulated program's address space, reached with process_vm_readv and process_vm_writev: what DMA does to memory.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "sim/host/program_memory.h"
#include "sim/supervisor/spin/code_memory.h"

namespace verbatim::supervisor {

class ProcessMemory final : public host::ProgramMemory {
 public:
  explicit ProcessMemory(pid_t pid) : pid_(pid) {}
  ~ProcessMemory() override;

  // The thread whose address space it is; a process's first may end before the others.
  pid_t reached_through() const { return pid_; }
  void reach_through(pid_t tid) { pid_ = tid; }

  bool read(host::ProgramAddress from, std::span<std::byte> to) override;
  // Pages are written whatever their protection, as pinned ones are by an adapter.
  bool write(host::ProgramAddress to, std::span<const std::byte> from) override;
  bool write_code(host::ProgramAddress to, std::span<const std::byte> from) override;
  // As a system call does: false when a byte may not be written.
  bool put(host::ProgramAddress to, std::span<const std::byte> from);
  bool is_mapped(host::ProgramAddress start, std::uint64_t length, bool writable) override;

  // Whether the pages are mapped and nobody else's: no file, no memory that other processes may share.
  bool is_private(host::ProgramAddress start, std::uint64_t length) const;

  // Copies the ranges one after the other, in as few system calls as the kernel allows; false when a byte is unmapped.
  bool read_ranges(std::span<const spin::MemoryRange> ranges, std::uint8_t* to);
  // Called after every write with its address and length.
  void set_write_listener(std::function<void(host::ProgramAddress, std::size_t)> listener) {
    write_listener_ = std::move(listener);
  }

  // Called before every read and write.
  void set_access_listener(std::function<void()> listener) { access_listener_ = std::move(listener); }

  template <class T>
  std::optional<T> load(host::ProgramAddress from) {
    T value;
    if (!read(from, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
    return value;
  }
  template <class T>
  bool store(host::ProgramAddress to, const T& value) {
    return put(to, std::as_bytes(std::span(&value, 1)));
  }
  // A string of at most `limit` bytes before its terminating zero; nullopt when unmapped or longer.
  std::optional<std::string> load_string(host::ProgramAddress from, std::size_t limit);

 private:
  // Through process_vm_writev; how many bytes.
  std::size_t write_some(host::ProgramAddress to, std::span<const std::byte> from);
  // Through /proc/PID/mem.
  bool write_protected(host::ProgramAddress to, std::span<const std::byte> from);

  pid_t pid_;
  int mem_fd_ = -1;
  std::function<void(host::ProgramAddress, std::size_t)> write_listener_;
  std::function<void()> access_listener_;
};

}  // namespace verbatim::supervisor
