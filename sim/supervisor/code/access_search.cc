#include "sim/supervisor/code/access_search.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "sim/supervisor/code/decoded.h"
#include "sim/supervisor/code/elf_tables.h"

namespace verbatim::code {

namespace {

using protocol::AccessPlace;

struct Range {
  std::uint64_t begin = 0, end = 0;
  bool holds(std::uint64_t address) const { return address >= begin && address < end; }
};

template <class T>
std::optional<T> load_at(std::span<const std::byte> file, std::uint64_t at) {
  T value;
  return load(file, at, value) ? std::optional(value) : std::nullopt;
}

// Addresses of variables: writable while the program runs.
struct Variables {
  std::vector<Range> writable, sealed;  // sealed: read-only after relocation

  explicit Variables(std::span<const std::byte> file) {
    for (const Elf64_Phdr& part : parts_of(file)) {
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

// Slots in which the loader stores addresses of the C library's memory and string functions.
class LibraryTable {
 public:
  explicit LibraryTable(std::span<const std::byte> file) : file_(file), parts_(parts_of(file)) {
    const auto dynamic = std::ranges::find(parts_, Elf64_Word{PT_DYNAMIC}, &Elf64_Phdr::p_type);
    if (dynamic != parts_.end()) read(*dynamic);
  }
  // nullptr: the slot is not of such a function.
  struct Slot {
    std::uint64_t address = 0;
    bool copies = false;  // memcpy or memmove
  };
  const Slot* find(std::uint64_t address) const {
    const auto slot = std::ranges::lower_bound(slots_, address, {}, &Slot::address);
    return slot != slots_.end() && slot->address == address ? &*slot : nullptr;
  }

 private:
  std::uint64_t offset_of(std::uint64_t address) const {
    for (const Elf64_Phdr& part : parts_) {
      if (part.p_type == PT_LOAD && address - part.p_vaddr < part.p_filesz) return part.p_offset + (address - part.p_vaddr);
    }
    return file_.size();  // not mapped from the file
  }

  void read(const Elf64_Phdr& dynamic) {
    constexpr std::size_t kTags = 32;  // all tags that are used are below this
    std::uint64_t values[kTags] = {};
    for (std::uint64_t at = 0; at < dynamic.p_filesz; at += sizeof(Elf64_Dyn)) {
      const auto entry = load_at<Elf64_Dyn>(file_, dynamic.p_offset + at);
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag > 0 && entry->d_tag < static_cast<std::int64_t>(kTags)) values[entry->d_tag] = entry->d_un.d_val;
    }
    add(values[DT_JMPREL], values[DT_PLTRELSZ], values[DT_SYMTAB], values[DT_STRTAB]);
    add(values[DT_RELA], values[DT_RELASZ], values[DT_SYMTAB], values[DT_STRTAB]);
    std::ranges::sort(slots_, {}, &Slot::address);
  }

  void add(std::uint64_t table, std::uint64_t size, std::uint64_t symbols, std::uint64_t names) {
    const std::uint64_t begin = offset_of(table);
    for (std::uint64_t at = 0; at < size; at += sizeof(Elf64_Rela)) {
      const auto entry = load_at<Elf64_Rela>(file_, begin + at);
      if (!entry) return;
      const auto type = ELF64_R_TYPE(entry->r_info);
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
      const auto symbol = load_at<Elf64_Sym>(file_, offset_of(symbols) + ELF64_R_SYM(entry->r_info) * sizeof(Elf64_Sym));
      const std::uint64_t name = symbol ? offset_of(names) + symbol->st_name : file_.size();
      if (touches_arguments(name)) slots_.push_back({entry->r_offset, copies(name)});
    }
  }

  bool begins_with(std::uint64_t name, std::string_view start) const {
    return name <= file_.size() && file_.size() - name >= start.size() &&
           std::memcmp(file_.data() + name, start.data(), start.size()) == 0;
  }
  bool touches_arguments(std::uint64_t name) const {
    constexpr std::string_view kStarts[] = {"mem", "str", "__mem", "__str", "bcopy", "bcmp"};
    return std::ranges::any_of(kStarts, [&](std::string_view start) { return begins_with(name, start); });
  }
  bool copies(std::uint64_t name) const {
    using namespace std::string_view_literals;  // with the final zero
    constexpr std::string_view kNames[] = {"memcpy\0"sv, "memmove\0"sv, "__memcpy_chk\0"sv, "__memmove_chk\0"sv};
    return std::ranges::any_of(kNames, [&](std::string_view whole) { return begins_with(name, whole); });
  }

  std::span<const std::byte> file_;
  const std::vector<Elf64_Phdr> parts_;
  std::vector<Slot> slots_;  // sorted by address
};

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

// Whether another thread may access the memory between the read and the write: the instruction is not locked.
bool is_divided(const Decoded& decoded, const ZydisDecodedOperand& operand) {
  constexpr unsigned kRead = ZYDIS_OPERAND_ACTION_MASK_READ, kWrite = ZYDIS_OPERAND_ACTION_MASK_WRITE;
  const bool locks = (decoded.instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 ||
                     decoded.instruction.mnemonic == ZYDIS_MNEMONIC_XCHG;
  return !locks && operand.size >= 8 && operand.size <= 64 && (operand.actions & kRead) != 0 && (operand.actions & kWrite) != 0;
}

bool only_writes(const ZydisDecodedOperand& operand) {
  return (operand.actions & (ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_MASK_WRITE)) == ZYDIS_OPERAND_ACTION_WRITE;
}
bool only_reads(const ZydisDecodedOperand& operand) {
  return (operand.actions & (ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_MASK_WRITE)) == ZYDIS_OPERAND_ACTION_READ;
}

bool leaves_stores_waiting(const Decoded& decoded) {
  const ZydisDecodedInstruction& instruction = decoded.instruction;
  if ((instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 || instruction.mnemonic == ZYDIS_MNEMONIC_XCHG) return false;
  switch (instruction.meta.category) {
    case ZYDIS_CATEGORY_BINARY:
    case ZYDIS_CATEGORY_BITBYTE:
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_CMOV:
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_CONVERT:
    case ZYDIS_CATEGORY_DATAXFER:
    case ZYDIS_CATEGORY_LOGICAL:
    case ZYDIS_CATEGORY_LOGICAL_FP:
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_POP:
    case ZYDIS_CATEGORY_PUSH:
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_SETCC:
    case ZYDIS_CATEGORY_SHIFT:
    case ZYDIS_CATEGORY_SSE:
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_WIDENOP:
      return instruction.mnemonic != ZYDIS_MNEMONIC_MFENCE && instruction.mnemonic != ZYDIS_MNEMONIC_LFENCE &&
             instruction.mnemonic != ZYDIS_MNEMONIC_SFENCE;
    default:
      return instruction.mnemonic == ZYDIS_MNEMONIC_LEA || instruction.mnemonic == ZYDIS_MNEMONIC_ENDBR64;
  }
}

// Searches one function of a file.
class FunctionSearch {
 public:
  FunctionSearch(std::span<const std::byte> file, const Variables& variables, const LibraryTable& libraries,
                 std::uint64_t begin, std::uint64_t offset, std::uint64_t size)
      : file_(file), variables_(variables), libraries_(libraries), begin_(begin), offset_(offset), size_(size) {}

  void search(std::vector<AccessSite>& found) {
    each([&](const Decoded& decoded, std::uint64_t) { note_frame(decoded); });
    each([&](const Decoded& decoded, std::uint64_t at) {
      const ZydisDecodedOperand* touched = nullptr;
      auto place = place_of(decoded, begin_ + at, touched);
      if (!place) return;
      place->only_stores = touched != nullptr && only_writes(*touched) && place->size <= AccessPlace::kMostBuffered;
      place->original = std::to_integer<std::uint8_t>(file_[offset_ + at]);
      found.push_back({offset_ + at, *place, touched != nullptr && only_reads(*touched)});
    });
  }

 private:
  template <class Do>
  void each(Do&& what) const {
    for (std::uint64_t at = 0; at < size_;) {
      Decoded decoded;
      if (!decode(file_.subspan(offset_ + at, size_ - at), decoded)) return;
      what(decoded, at);
      at += decoded.instruction.length;
    }
  }

  // Notes, for the whole function, whether rbp is a frame pointer and which addresses in the frame are taken.
  void note_frame(const Decoded& decoded) {
    const auto is_register = [&](unsigned operand, ZydisRegister name) {
      return decoded.operands[operand].type == ZYDIS_OPERAND_TYPE_REGISTER && decoded.operands[operand].reg.value == name;
    };
    const ZydisMnemonic mnemonic = decoded.instruction.mnemonic;
    if (mnemonic == ZYDIS_MNEMONIC_MOV && is_register(0, ZYDIS_REGISTER_RBP) && is_register(1, ZYDIS_REGISTER_RSP))
      has_frame_pointer_ = true;
    if (mnemonic == ZYDIS_MNEMONIC_LEA && !is_register(0, ZYDIS_REGISTER_RSP) && !is_register(0, ZYDIS_REGISTER_RBP))
      taken_.emplace(decoded.operands[1].mem.base, decoded.operands[1].mem.disp.value);
  }

  bool is_on_frame(ZydisRegister base) const {
    return base == ZYDIS_REGISTER_RSP || (base == ZYDIS_REGISTER_RBP && has_frame_pointer_);
  }

  // Whether the operand may be part of an object whose address is taken.
  bool may_be_taken(const ZydisDecodedOperand& operand) const {
    constexpr std::int64_t kMost = 256;  // bytes of the object that are considered
    const std::int64_t displacement = operand.mem.disp.value;
    const auto taken = taken_.lower_bound({operand.mem.base, displacement - kMost + 1});
    return taken != taken_.end() && *taken <= std::pair(operand.mem.base, displacement);
  }

  // nullopt: the instruction accesses nothing that others may access. `touched`: its memory operand, if any.
  std::optional<AccessPlace> place_of(const Decoded& decoded, std::uint64_t address, const ZydisDecodedOperand*& touched) const {
    const std::uint8_t length = decoded.instruction.length;
    if (const LibraryTable::Slot* const called = called_slot(decoded, address))
      return AccessPlace{.address = address, .length = length, .copies = called->copies};
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
      touched = &operand;
      return place;
    }
    return std::nullopt;
  }

  // The slot of the library function that the instruction calls, directly or through a PLT entry; nullptr: it calls
  // none.
  const LibraryTable::Slot* called_slot(const Decoded& decoded, std::uint64_t address) const {
    if (decoded.instruction.mnemonic != ZYDIS_MNEMONIC_CALL) return nullptr;
    const ZydisDecodedOperand& to = decoded.operands[0];
    const std::uint64_t next = address + decoded.instruction.length;
    if (to.type == ZYDIS_OPERAND_TYPE_MEMORY) {
      return to.mem.base == ZYDIS_REGISTER_RIP ? libraries_.find(next + static_cast<std::uint64_t>(to.mem.disp.value)) : nullptr;
    }
    if (to.type != ZYDIS_OPERAND_TYPE_IMMEDIATE) return nullptr;
    std::uint64_t target = next + static_cast<std::uint64_t>(to.imm.value.s);
    // The PLT is mapped with the same offset between file and memory as the function.
    const auto code = [&](std::uint64_t at) { return offset_ + (at - begin_); };
    constexpr std::uint32_t kBranch = 0xfa1e'0ff3;
    constexpr std::uint8_t kBound = 0xf2;
    constexpr std::uint16_t kJumpByTable = 0x25ff;
    if (load_at<std::uint32_t>(file_, code(target)) == kBranch) target += sizeof kBranch;
    if (load_at<std::uint8_t>(file_, code(target)) == kBound) target += sizeof kBound;
    if (load_at<std::uint16_t>(file_, code(target)) != kJumpByTable) return nullptr;
    target += sizeof kJumpByTable;
    const auto distance = load_at<std::int32_t>(file_, code(target));
    return distance ? libraries_.find(target + sizeof *distance + static_cast<std::uint64_t>(std::int64_t{*distance})) : nullptr;
  }

  std::span<const std::byte> file_;
  const Variables& variables_;
  const LibraryTable& libraries_;
  const std::uint64_t begin_, offset_, size_;  // first address, its offset in the file, length in bytes
  bool has_frame_pointer_ = false;
  std::set<std::pair<ZydisRegister, std::int64_t>> taken_;  // base registers and displacements
};

}  // namespace

std::size_t length_if_stores_wait(std::span<const std::byte> code) {
  Decoded decoded;
  return decode(code, decoded) && leaves_stores_waiting(decoded) ? decoded.instruction.length : 0;
}

std::vector<AccessSite> search_accesses(const ElfImage& image, std::span<const std::byte> file) {
  const Variables variables(file);
  const LibraryTable libraries(file);
  std::vector<AccessSite> found;
  std::uint64_t searched = 0;  // functions below this address have been searched
  for (const Function& function : image.functions()) {
    // Functions may overlap: part of one may have a name of its own.
    const std::uint64_t begin = std::max(function.begin, searched);
    for (const ExecutablePart& part : image.executable()) {
      if (begin < part.address || begin >= part.address + part.size || begin >= function.end) continue;
      const std::uint64_t end = std::min(function.end, part.address + part.size), offset = part.offset + (begin - part.address);
      FunctionSearch(file, variables, libraries, begin, offset, end - begin).search(found);
      searched = std::max(searched, end);
    }
  }
  std::ranges::sort(found, {}, &AccessSite::offset);
  return found;
}

}  // namespace verbatim::code
