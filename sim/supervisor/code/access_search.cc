#include "sim/supervisor/code/access_search.h"

#include <Zydis/Zydis.h>
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace verbatim::code {

namespace {

using protocol::AccessPlace;

struct Range {
  std::uint64_t begin = 0, end = 0;
  bool holds(std::uint64_t address) const { return address >= begin && address < end; }
};

// Where the file's variables lie: what is writable once the program runs.
struct Variables {
  std::vector<Range> writable, sealed;  // sealed: after relocation

  explicit Variables(std::span<const std::byte> file) {
    Elf64_Ehdr header;
    if (file.size() < sizeof header) return;
    std::memcpy(&header, file.data(), sizeof header);
    for (unsigned i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr part;
      const std::uint64_t at = header.e_phoff + std::uint64_t{i} * sizeof part;
      if (at > file.size() || file.size() - at < sizeof part) return;
      std::memcpy(&part, file.data() + at, sizeof part);
      const Range range{part.p_vaddr, part.p_vaddr + part.p_memsz};
      if (part.p_type == PT_LOAD && (part.p_flags & PF_W) != 0) writable.push_back(range);
      if (part.p_type == PT_GNU_RELRO) sealed.push_back(range);
    }
  }
  bool hold(std::uint64_t address) const {
    const auto is_in = [&](const Range& range) { return range.holds(address); };
    return std::ranges::any_of(writable, is_in) && std::ranges::none_of(sealed, is_in);
  }
};

struct DecodedAccess {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

const ZydisDecoder& access_decoder() {
  static const ZydisDecoder instance = [] {
    ZydisDecoder made;
    ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return made;
  }();
  return instance;
}

std::uint8_t number_of(ZydisRegister name) {
  if (name == ZYDIS_REGISTER_NONE) return AccessPlace::kNoRegister;
  if (name == ZYDIS_REGISTER_RIP) return AccessPlace::kNextInstruction;
  return static_cast<std::uint8_t>(ZydisRegisterGetId(name) & 15);
}

bool touches_no_data(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_CALL:
    case ZYDIS_MNEMONIC_JMP:
    case ZYDIS_MNEMONIC_NOP:
    case ZYDIS_MNEMONIC_ENDBR64:
    case ZYDIS_MNEMONIC_PREFETCHNTA:
    case ZYDIS_MNEMONIC_PREFETCHT0:
    case ZYDIS_MNEMONIC_PREFETCHT1:
    case ZYDIS_MNEMONIC_PREFETCHT2:
    case ZYDIS_MNEMONIC_PREFETCHW:
      return true;
    default:
      return false;
  }
}

// Between reading and writing others may come: it locks nothing.
bool is_divided(const DecodedAccess& decoded, const ZydisDecodedOperand& operand) {
  constexpr unsigned kRead = ZYDIS_OPERAND_ACTION_MASK_READ, kWrite = ZYDIS_OPERAND_ACTION_MASK_WRITE;
  const bool locks = (decoded.instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 ||
                     decoded.instruction.mnemonic == ZYDIS_MNEMONIC_XCHG;
  return !locks && operand.size >= 8 && operand.size <= 64 && (operand.actions & kRead) != 0 && (operand.actions & kWrite) != 0;
}

// nullopt: it touches nothing that others may touch. `has_frame`: rbp is the function's frame pointer.
std::optional<AccessPlace> place_of(const DecodedAccess& decoded, std::uint64_t address, bool has_frame,
                                    const Variables& variables) {
  if (touches_no_data(decoded.instruction.mnemonic)) return std::nullopt;
  for (unsigned i = 0; i < decoded.instruction.operand_count_visible; ++i) {
    const ZydisDecodedOperand& operand = decoded.operands[i];
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type != ZYDIS_MEMOP_TYPE_MEM) continue;
    if (operand.mem.segment == ZYDIS_REGISTER_FS || operand.mem.segment == ZYDIS_REGISTER_GS) continue;
    const ZydisRegister base = operand.mem.base;
    if (base == ZYDIS_REGISTER_RSP || (base == ZYDIS_REGISTER_RBP && has_frame)) continue;
    const bool is_plain = ZydisRegisterGetClass(base) == ZYDIS_REGCLASS_GPR64;
    if (!is_plain && base != ZYDIS_REGISTER_RIP && base != ZYDIS_REGISTER_NONE) continue;
    AccessPlace place{.address = address,
                      .displacement = static_cast<std::int32_t>(operand.mem.disp.value),
                      .base = number_of(base),
                      .index = number_of(operand.mem.index),
                      .scale = operand.mem.scale,
                      .length = decoded.instruction.length};
    if (is_divided(decoded, operand)) place.divided = static_cast<std::uint8_t>(operand.size / 8);
    const std::uint64_t variable = address + place.length + static_cast<std::uint64_t>(std::int64_t{place.displacement});
    if (base == ZYDIS_REGISTER_RIP && !variables.hold(variable)) continue;
    return place;
  }
  return std::nullopt;
}

// Of one function, whose code is `code`.
void search_function(std::span<const std::byte> code, std::uint64_t address, std::uint64_t offset, const Variables& variables,
                     std::vector<AccessSite>& found) {
  bool has_pushed_frame = false, has_frame = false;
  for (std::size_t at = 0; at < code.size();) {
    DecodedAccess decoded;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&access_decoder(), code.data() + at, code.size() - at, &decoded.instruction,
                                             decoded.operands))) {
      return;
    }
    const auto is_register = [&](unsigned operand, ZydisRegister name) {
      return decoded.operands[operand].type == ZYDIS_OPERAND_TYPE_REGISTER && decoded.operands[operand].reg.value == name;
    };
    if (decoded.instruction.mnemonic == ZYDIS_MNEMONIC_PUSH && is_register(0, ZYDIS_REGISTER_RBP)) has_pushed_frame = true;
    if (decoded.instruction.mnemonic == ZYDIS_MNEMONIC_MOV && has_pushed_frame && is_register(0, ZYDIS_REGISTER_RBP) &&
        is_register(1, ZYDIS_REGISTER_RSP)) {
      has_frame = true;
    }
    if (auto place = place_of(decoded, address + at, has_frame, variables)) {
      place->original = std::to_integer<std::uint8_t>(code[at]);
      found.push_back({offset + at, *place});
    }
    at += decoded.instruction.length;
  }
}

}  // namespace

std::vector<AccessSite> search_accesses(const ElfImage& image, std::span<const std::byte> file) {
  const Variables variables(file);
  std::vector<AccessSite> found;
  std::uint64_t searched = 0;  // up to this address
  for (const Function& function : image.functions()) {
    // Functions may overlap, a part of one with a name of its own.
    const std::uint64_t begin = std::max(function.begin, searched);
    for (const ExecutablePart& part : image.executable()) {
      if (begin < part.address || begin >= part.address + part.size || begin >= function.end) continue;
      const std::uint64_t end = std::min(function.end, part.address + part.size), offset = part.offset + (begin - part.address);
      search_function(file.subspan(offset, end - begin), begin, offset, variables, found);
      searched = std::max(searched, end);
    }
  }
  std::ranges::sort(found, {}, &AccessSite::offset);
  return found;
}

}  // namespace verbatim::code
