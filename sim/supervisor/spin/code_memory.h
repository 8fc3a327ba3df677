// The address space of the analysed program, read-only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace verbatim::spin {

struct MemoryRange {
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  friend bool operator==(const MemoryRange&, const MemoryRange&) = default;
};

class CodeMemory {
 public:
  virtual ~CodeMemory() = default;

  // Copies `n` bytes. False: some cannot be read. Must refuse memory that changes with virtual time, such as
  // the clock page: a proof assumes that only an outside store changes what is read here.
  virtual bool read(std::uint64_t address, void* to, std::size_t n) = 0;

  // Copies the ranges one after the other, with one system call if possible (process_vm_readv).
  virtual bool read_all(std::span<const MemoryRange> ranges, std::uint8_t* to) {
    for (const MemoryRange& range : ranges) {
      if (!read(range.address, to, range.length)) return false;
      to += range.length;
    }
    return true;
  }

  // True if the program may change code in this 4 KiB page by stores alone, or from another mapping of it: no call of
  // SpinProver::invalidate() reports that.
  virtual bool changes_unnoticed(std::uint64_t page) {
    static_cast<void>(page);
    return false;
  }

  // True if the 4 KiB page at `page` holds the same code as long as it is mapped: a read-only file mapping,
  // whose end is reported through SpinProver::invalidate(). Other code is compared with memory once per
  // analysis.
  virtual bool is_fixed_code(std::uint64_t page) {
    static_cast<void>(page);
    return false;
  }
};

}  // namespace verbatim::spin
