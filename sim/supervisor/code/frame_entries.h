// Elements of call frame information (.eh_frame; Linux Standard Base, 10.6): pointers, numbers and common
// entries. Every number in the file is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace verbatim::code {

// Pointer encodings (Linux Standard Base, 10.5.1).
inline constexpr std::uint8_t kUdata4 = 0x03, kSdata4 = 0x0b, kDataRelative = 0x30;

struct EncodedPointer {
  std::uint64_t value;
  std::uint64_t size;
};
// Decodes the pointer at offset `at` of the file, loaded at `address`.
std::optional<EncodedPointer> read_pointer(std::span<const std::byte> file, std::uint64_t at, std::uint64_t address,
                                           std::uint8_t encoding);

// Decodes the LEB128 number at `at` and advances `at`; nullopt: it does not end in the file.
std::optional<std::uint64_t> read_unsigned(std::span<const std::byte> file, std::uint64_t& at);
std::optional<std::int64_t> read_signed(std::span<const std::byte> file, std::uint64_t& at);

// Common information entry, shared by frame descriptions.
struct CommonEntry {
  std::uint8_t encoding = 0;  // encoding of their addresses
  bool has_augmentation = false, is_of_signals = false;
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = 1;
  std::uint64_t return_register = 16;
  std::uint64_t from = 0, to = 0;  // offsets of its instructions in the file
};
std::optional<CommonEntry> read_common_entry(std::span<const std::byte> file, std::uint64_t at);

}  // namespace verbatim::code
