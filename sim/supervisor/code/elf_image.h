// What an ELF file says about its code: which parts are executable, and where functions begin and end. Every number in
// the file is checked; of a damaged one less is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace verbatim::code {

// Addresses are those of the file (p_vaddr), before relocation.
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

  // In the file's order; none is empty, and no two have bytes or addresses in common.
  const std::vector<ExecutablePart>& executable() const { return executable_; }
  // Of call frame information (.eh_frame) and symbols; ordered by begin, none empty, each begin once.
  const std::vector<Function>& functions() const { return functions_; }
  // Where sections with code begin: decoding from there is as good as from a function. Ordered; no two
  // overlap.
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
};

}  // namespace verbatim::code
