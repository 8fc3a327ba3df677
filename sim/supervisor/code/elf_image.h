// Code of an ELF file: executable segments and the bounds of functions. Every number in the file is checked;
// a damaged file gives less.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace verbatim::code {

// Addresses of the file (p_vaddr), before relocation.
struct Function {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct ExecutablePart {
  std::uint64_t offset = 0;   // in the file
  std::uint64_t size = 0;     // bytes in the file
  std::uint64_t address = 0;  // of its first byte
};

class ElfImage {
 public:
  // nullopt: not a 64-bit x86 ELF file.
  static std::optional<ElfImage> read(std::span<const std::byte> file);

  // In the file's order; none is empty, and none share bytes or addresses.
  const std::vector<ExecutablePart>& executable() const { return executable_; }
  // From call frame information (.eh_frame) and symbols; sorted by begin, none empty, distinct begins.
  const std::vector<Function>& functions() const { return functions_; }
  // First instruction of a program; nullopt: the file is a library.
  std::optional<std::uint64_t> entry() const { return entry_; }
  // Sections with code: decoding can begin at their start as at a function's. Sorted, without overlaps.
  const std::vector<Function>& code_sections() const { return code_sections_; }

 private:
  void add_executable(const ExecutablePart& part);
  void add_frames(std::span<const std::byte> file, std::uint64_t header_offset, std::uint64_t header_address);
  void add_symbols(std::span<const std::byte> file);
  std::optional<std::uint64_t> offset_of(std::uint64_t address) const;
  bool is_code(std::uint64_t address) const;

  struct Segment {
    std::uint64_t offset, size, address;
  };
  std::vector<Segment> segments_;
  std::vector<ExecutablePart> executable_;
  std::vector<Function> functions_;
  std::vector<Function> code_sections_;
  std::optional<std::uint64_t> entry_;
};

}  // namespace verbatim::code
