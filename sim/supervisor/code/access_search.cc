#include "sim/supervisor/code/access_search.h"

#include <Zydis/Zydis.h>
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

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

// One function of a file.
class FunctionSearch {
 public:
  FunctionSearch(std::span<const std::byte> file, const Variables& variables, std::uint64_t begin, std::uint64_t offset,
                 std::uint64_t size)
      : file_(file), variables_(variables), begin_(begin), offset_(offset), size_(size) {}

  void search(std::vector<AccessSite>& found) {
    each([&](const DecodedAccess& decoded, std::uint64_t) { note_frame(decoded); });
    each([&](const DecodedAccess& decoded, std::uint64_t at) {
      auto place = place_of(decoded, begin_ + at);
      if (!place) return;
      place->original = std::to_integer<std::uint8_t>(file_[offset_ + at]);
      found.push_back({offset_ + at, *place});
    });
  }

 private:
  template <class Do>
  void each(Do&& what) const {
    for (std::uint64_t at = 0; at < size_;) {
      DecodedAccess decoded;
      if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&access_decoder(), file_.data() + offset_ + at, size_ - at,
                                               &decoded.instruction, decoded.operands))) {
        return;
      }
      what(decoded, at);
      at += decoded.instruction.length;
    }
  }

  // What the function says of its frame, anywhere: where rbp leads to, and of what it takes the address.
  void note_frame(const DecodedAccess& decoded) {
    const auto is_register = [&](unsigned operand, ZydisRegister name) {
      return decoded.operands[operand].type == ZYDIS_OPERAND_TYPE_REGISTER && decoded.operands[operand].reg.value == name;
    };
    const ZydisMnemonic mnemonic = decoded.instruction.mnemonic;
    if (mnemonic == ZYDIS_MNEMONIC_MOV && is_register(0, ZYDIS_REGISTER_RBP) && is_register(1, ZYDIS_REGISTER_RSP))
      has_frame_pointer_ = true;
    if (mnemonic == ZYDIS_MNEMONIC_LEA && !is_register(0, ZYDIS_REGISTER_RSP) && !is_register(0, ZYDIS_REGISTER_RBP))
      taken_.emplace_back(decoded.operands[1].mem.base, decoded.operands[1].mem.disp.value);
  }

  bool is_on_frame(ZydisRegister base) const {
    return base == ZYDIS_REGISTER_RSP || (base == ZYDIS_REGISTER_RBP && has_frame_pointer_);
  }

  // Whether it may be part of something whose address is known elsewhere.
  bool may_be_taken(const ZydisDecodedOperand& operand) const {
    constexpr std::int64_t kMost = 256;  // bytes of it that are looked at
    return std::ranges::any_of(taken_, [&](const auto& taken) {
      return taken.first == operand.mem.base && operand.mem.disp.value >= taken.second &&
             operand.mem.disp.value - taken.second < kMost;
    });
  }

  // nullopt: it touches nothing that others may touch.
  std::optional<AccessPlace> place_of(const DecodedAccess& decoded, std::uint64_t address) const {
    const std::uint8_t length = decoded.instruction.length;
    if (calls_library(decoded, address)) return AccessPlace{.address = address, .length = length};
    if (touches_no_data(decoded.instruction.mnemonic)) return std::nullopt;
    for (unsigned i = 0; i < decoded.instruction.operand_count_visible; ++i) {
      const ZydisDecodedOperand& operand = decoded.operands[i];
      if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type != ZYDIS_MEMOP_TYPE_MEM) continue;
      if (operand.mem.segment == ZYDIS_REGISTER_FS || operand.mem.segment == ZYDIS_REGISTER_GS) continue;
      const ZydisRegister base = operand.mem.base;
      if (is_on_frame(base) && !may_be_taken(operand)) continue;
      const bool is_plain = ZydisRegisterGetClass(base) == ZYDIS_REGCLASS_GPR64;
      if (!is_plain && base != ZYDIS_REGISTER_RIP && base != ZYDIS_REGISTER_NONE) continue;
      AccessPlace place{.address = address,
                        .displacement = static_cast<std::int32_t>(operand.mem.disp.value),
                        .base = number_of(base),
                        .index = number_of(operand.mem.index),
                        .scale = operand.mem.scale,
                        .length = length,
                        .size = static_cast<std::uint16_t>(operand.size / 8)};
      if (is_divided(decoded, operand)) place.divided = static_cast<std::uint8_t>(operand.size / 8);
      const std::uint64_t variable = address + length + static_cast<std::uint64_t>(std::int64_t{place.displacement});
      if (base == ZYDIS_REGISTER_RIP && !variables_.hold(variable)) continue;
      return place;
    }
    return std::nullopt;
  }

  // By way of a table that the loader has filled: at once, or through a jump of the linker's.
  bool calls_library(const DecodedAccess& decoded, std::uint64_t address) const {
    if (decoded.instruction.mnemonic != ZYDIS_MNEMONIC_CALL) return false;
    const ZydisDecodedOperand& to = decoded.operands[0];
    if (to.type == ZYDIS_OPERAND_TYPE_MEMORY) return to.mem.base == ZYDIS_REGISTER_RIP;
    if (to.type != ZYDIS_OPERAND_TYPE_IMMEDIATE) return false;
    // Whatever part it lies in, code is mapped as the function's is.
    const std::uint64_t target =
        offset_ + (address - begin_) + decoded.instruction.length + static_cast<std::uint64_t>(to.imm.value.s);
    constexpr std::uint8_t kBranch[] = {0xf3, 0x0f, 0x1e, 0xfa}, kJumpByTable[] = {0xff, 0x25}, kBound = 0xf2;
    const auto holds = [&](std::uint64_t at, std::span<const std::uint8_t> bytes) {
      return at <= file_.size() && file_.size() - at >= bytes.size() &&
             std::memcmp(file_.data() + at, bytes.data(), bytes.size()) == 0;
    };
    std::uint64_t at = target;
    if (holds(at, kBranch)) at += sizeof kBranch;
    if (holds(at, {&kBound, 1})) ++at;
    return holds(at, kJumpByTable);
  }

  std::span<const std::byte> file_;
  const Variables& variables_;
  const std::uint64_t begin_, offset_, size_;  // its first address, where that is in the file, and bytes
  bool has_frame_pointer_ = false;
  std::vector<std::pair<ZydisRegister, std::int64_t>> taken_;  // bases and displacements
};

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
      FunctionSearch(file, variables, begin, offset, end - begin).search(found);
      searched = std::max(searched, end);
    }
  }
  std::ranges::sort(found, {}, &AccessSite::offset);
  return found;
}

}  // namespace verbatim::code
