#include "sim/supervisor/code/frame_entries.h"

#include <algorithm>
#include <string>

#include "sim/supervisor/code/elf_tables.h"

namespace verbatim::code {

namespace {

constexpr std::uint8_t kAbsolute = 0x00, kUdata8 = 0x04, kSdata8 = 0x0c, kPcRelative = 0x10;

}  // namespace

std::optional<EncodedPointer> read_pointer(std::span<const std::byte> file, std::uint64_t at, std::uint64_t address,
                                           std::uint8_t encoding) {
  EncodedPointer pointer{};
  std::int32_t narrow;
  switch (encoding & 0x0f) {
    case kAbsolute:
    case kUdata8:
    case kSdata8:
      if (!load(file, at, pointer.value)) return std::nullopt;
      pointer.size = 8;
      break;
    case kUdata4:
    case kSdata4:
      if (!load(file, at, narrow)) return std::nullopt;
      pointer.value = (encoding & 0x0f) == kUdata4 ? static_cast<std::uint32_t>(narrow)
                                                   : static_cast<std::uint64_t>(std::int64_t{narrow});
      pointer.size = 4;
      break;
    default:
      return std::nullopt;
  }
  if ((encoding & 0x70) == kPcRelative) pointer.value += address;
  if ((encoding & 0x70) != kPcRelative && (encoding & 0x70) != 0) return std::nullopt;
  return pointer;
}

std::optional<std::uint64_t> read_unsigned(std::span<const std::byte> file, std::uint64_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 70 && at < file.size(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(file[at++]);
    if (shift < 64) value |= std::uint64_t{byte & 0x7fu} << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

std::optional<std::int64_t> read_signed(std::span<const std::byte> file, std::uint64_t& at) {
  const std::uint64_t from = at;
  const auto value = read_unsigned(file, at);
  if (!value) return std::nullopt;
  const std::uint64_t bits = std::min<std::uint64_t>(64, 7 * (at - from));
  const bool is_negative = (static_cast<std::uint8_t>(file[at - 1]) & 0x40) != 0;
  return static_cast<std::int64_t>(is_negative && bits < 64 ? *value | ~std::uint64_t{0} << bits : *value);
}

std::optional<CommonEntry> read_common_entry(std::span<const std::byte> file, std::uint64_t at) {
  CommonEntry entry;
  std::uint32_t length, id;
  std::uint8_t version;
  if (!load(file, at, length) || length == 0xffff'ffff || !load(file, at + 4, id) || id != 0 || !load(file, at + 8, version)) {
    return std::nullopt;
  }
  entry.to = std::min<std::uint64_t>(file.size(), at + 4 + length);
  std::string augmentation;
  at += 9;
  for (std::uint8_t letter; load(file, at, letter); ++at) {
    if (letter == 0) break;
    augmentation += static_cast<char>(letter);
    if (augmentation.size() > 8) return std::nullopt;
  }
  ++at;
  const auto code_alignment = read_unsigned(file, at);
  const auto data_alignment = code_alignment ? read_signed(file, at) : std::nullopt;
  if (!data_alignment) return std::nullopt;
  entry.code_alignment = *code_alignment;
  entry.data_alignment = *data_alignment;
  if (version == 1) {
    std::uint8_t return_register;
    if (!load(file, at++, return_register)) return std::nullopt;
    entry.return_register = return_register;
  } else {
    const auto return_register = read_unsigned(file, at);
    if (!return_register) return std::nullopt;
    entry.return_register = *return_register;
  }
  entry.from = at;
  if (augmentation.empty()) return entry;
  if (augmentation[0] != 'z') return std::nullopt;
  const auto size = read_unsigned(file, at);
  if (!size) return std::nullopt;
  entry.has_augmentation = true;
  entry.from = at + std::min<std::uint64_t>(*size, file.size());
  for (const char letter : augmentation.substr(1)) {
    std::uint8_t encoding = 0;
    if (letter != 'S' && letter != 'B' && !load(file, at++, encoding)) return std::nullopt;
    switch (letter) {
      case 'R':
        entry.encoding = encoding;
        break;
      case 'P': {
        const auto personality = read_pointer(file, at, 0, encoding & 0x0f);
        if (!personality) return std::nullopt;
        at += personality->size;
        break;
      }
      case 'S':
        entry.is_of_signals = true;
        break;
      case 'L':
      case 'B':
        break;
      default:
        return std::nullopt;
    }
  }
  return entry;
}

}  // namespace verbatim::code
