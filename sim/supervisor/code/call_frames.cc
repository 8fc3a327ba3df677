#include "sim/supervisor/code/call_frames.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "sim/supervisor/code/elf_tables.h"
#include "sim/supervisor/code/frame_entries.h"

namespace verbatim::code {

namespace {

using Bytes = std::span<const std::byte>;

// register numbers (System V ABI, AMD64, 3.6.2)
constexpr std::uint64_t kFramePointer = 6, kStackPointer = 7;

// Call frame instructions (DWARF 5, 6.4.2). The low six bits of the first three are an operand.
enum Instruction : std::uint8_t {
  kAdvance = 0x40,
  kOffset = 0x80,
  kRestore = 0xc0,
  kNop = 0x00,
  kSetLocation = 0x01,
  kAdvance1 = 0x02,
  kAdvance2 = 0x03,
  kAdvance4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kRegister = 0x09,
  kRememberState = 0x0a,
  kRestoreState = 0x0b,
  kDefineCfa = 0x0c,
  kDefineCfaRegister = 0x0d,
  kDefineCfaOffset = 0x0e,
  kDefineCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetExtendedSigned = 0x11,
  kDefineCfaSigned = 0x12,
  kDefineCfaOffsetSigned = 0x13,
  kValueOffset = 0x14,
  kValueOffsetSigned = 0x15,
  kValueExpression = 0x16,
  kArgumentsSize = 0x2e,
};

struct RegisterRule {
  enum class Kind : std::uint8_t { kSame, kSaved, kLost } kind = Kind::kSame;
  std::int64_t offset = 0;
};
struct Row {
  std::uint64_t cfa_register = kStackPointer;
  std::int64_t cfa_offset = 0;
  bool has_expression = false;
  RegisterRule frame_pointer, return_address{RegisterRule::Kind::kSaved, -8};
};

class Rows {
 public:
  Rows(Bytes file, const CommonEntry& common, std::uint64_t location, std::uint64_t wanted)
      : file_(file), common_(common), location_(location), wanted_(wanted) {}

  // False: an instruction is not supported.
  bool execute(std::uint64_t at, std::uint64_t to) {
    constexpr unsigned kMost = 10'000;  // instructions
    for (unsigned i = 0; at < to; ++i) {
      if (i == kMost || !step(at)) return false;
      if (is_past_) return true;
    }
    return true;
  }
  void keep_initial() { initial_ = row_; }
  const Row& row() const { return row_; }

 private:
  bool step(std::uint64_t& at) {
    std::uint8_t code;
    if (!load(file_, at++, code)) return false;
    const std::uint8_t low = code & 0x3f;
    switch (code & 0xc0) {
      case kAdvance:
        return advance(low);
      case kOffset:
        return set_saved(low, number(at), common_.data_alignment);
      case kRestore:
        return restore(low);
      default:
        return step_extended(code, at);
    }
  }

  bool step_extended(std::uint8_t code, std::uint64_t& at) {
    switch (code) {
      case kNop:
        return true;
      case kAdvance1:
        return advance_by<std::uint8_t>(at);
      case kAdvance2:
        return advance_by<std::uint16_t>(at);
      case kAdvance4:
        return advance_by<std::uint32_t>(at);
      case kOffsetExtended:
      case kOffsetExtendedSigned: {
        const auto which = number(at);
        const auto offset = code == kOffsetExtended ? number(at) : signed_number(at);
        return which && set_saved(static_cast<std::uint64_t>(*which), offset, common_.data_alignment);
      }
      case kRestoreExtended: {
        const auto which = number(at);
        return which && restore(static_cast<std::uint64_t>(*which));
      }
      case kUndefined:
      case kSameValue: {
        const auto which = number(at);
        return which && set(static_cast<std::uint64_t>(*which),
                            {code == kSameValue ? RegisterRule::Kind::kSame : RegisterRule::Kind::kLost, 0});
      }
      case kRegister:
      case kValueOffset:
      case kValueOffsetSigned: {
        const auto which = number(at), where = number(at);
        return which && where && set(static_cast<std::uint64_t>(*which), {RegisterRule::Kind::kLost, 0});
      }
      case kRememberState:
        if (kept_.size() == 64) return false;
        kept_.push_back(row_);
        return true;
      case kRestoreState:
        if (kept_.empty()) return false;
        row_ = kept_.back();
        kept_.pop_back();
        return true;
      case kDefineCfa:
      case kDefineCfaSigned: {
        const auto which = number(at);
        const auto offset = code == kDefineCfa ? number(at) : signed_number(at);
        return which && define_cfa(static_cast<std::uint64_t>(*which), offset, code == kDefineCfa ? 1 : common_.data_alignment);
      }
      case kDefineCfaRegister: {
        const auto which = number(at);
        return which && define_cfa(static_cast<std::uint64_t>(*which), row_.cfa_offset, 1);
      }
      case kDefineCfaOffset:
        return define_cfa(row_.cfa_register, number(at), 1);
      case kDefineCfaOffsetSigned:
        return define_cfa(row_.cfa_register, signed_number(at), common_.data_alignment);
      case kDefineCfaExpression:
        row_.has_expression = true;
        return skip_block(at);
      case kExpression:
      case kValueExpression: {
        const auto which = number(at);
        return which && skip_block(at) && set(static_cast<std::uint64_t>(*which), {RegisterRule::Kind::kLost, 0});
      }
      case kArgumentsSize:
        return number(at).has_value();
      default:
        return false;
    }
  }

  std::optional<std::int64_t> number(std::uint64_t& at) {
    const auto value = read_unsigned(file_, at);
    return value && *value < std::uint64_t{1} << 32 ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
  }
  std::optional<std::int64_t> signed_number(std::uint64_t& at) {
    const auto value = read_signed(file_, at);
    const bool is_small = value && *value < std::int64_t{1} << 32 && *value > -(std::int64_t{1} << 32);
    return is_small ? value : std::nullopt;
  }
  bool skip_block(std::uint64_t& at) {
    const auto size = number(at);
    if (!size || static_cast<std::uint64_t>(*size) > file_.size() - at) return false;
    at += static_cast<std::uint64_t>(*size);
    return true;
  }
  bool advance(std::uint64_t by) {
    location_ += by * common_.code_alignment;
    is_past_ = location_ > wanted_;
    return true;
  }
  template <class T>
  bool advance_by(std::uint64_t& at) {
    T by;
    if (!load(file_, at, by)) return false;
    at += sizeof by;
    return advance(by);
  }
  bool set(std::uint64_t which, RegisterRule rule) {
    if (which == kFramePointer) row_.frame_pointer = rule;
    if (which == common_.return_register) row_.return_address = rule;
    return true;
  }
  bool set_saved(std::uint64_t which, std::optional<std::int64_t> offset, std::int64_t alignment) {
    std::int64_t product;
    if (!offset || __builtin_mul_overflow(*offset, alignment, &product)) return false;
    return set(which, {RegisterRule::Kind::kSaved, product});
  }
  bool restore(std::uint64_t which) {
    if (which == kFramePointer) row_.frame_pointer = initial_.frame_pointer;
    if (which == common_.return_register) row_.return_address = initial_.return_address;
    return true;
  }
  bool define_cfa(std::uint64_t which, std::optional<std::int64_t> offset, std::int64_t alignment) {
    if (!offset || __builtin_mul_overflow(*offset, alignment, &row_.cfa_offset)) return false;
    row_.cfa_register = which;
    row_.has_expression = false;
    return true;
  }

  const Bytes file_;
  const CommonEntry& common_;
  std::uint64_t location_;
  const std::uint64_t wanted_;
  bool is_past_ = false;
  Row row_, initial_;
  std::vector<Row> kept_;
};

struct LoadedParts {
  struct Segment {
    std::uint64_t offset, size, address;
  };
  std::vector<Segment> segments;
  std::optional<Segment> frames;  // .eh_frame_hdr

  std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
    for (const Segment& segment : segments) {
      if (address >= segment.address && address - segment.address < segment.size)
        return segment.offset + (address - segment.address);
    }
    return std::nullopt;
  }
};

std::optional<LoadedParts> loaded_parts(Bytes file) {
  if (!elf_header(file)) return std::nullopt;
  LoadedParts parts;
  for (const Elf64_Phdr& part : parts_of(file)) {
    const LoadedParts::Segment segment{part.p_offset, part.p_filesz, part.p_vaddr};
    if (part.p_type == PT_LOAD) parts.segments.push_back(segment);
    if (part.p_type == PT_GNU_EH_FRAME) parts.frames = segment;
  }
  return parts;
}

// Address of the frame description of the last function that begins at or before `address`.
std::optional<std::uint64_t> description_of(Bytes file, const LoadedParts::Segment& header, std::uint64_t address) {
  // relative to the header, signed, four bytes; unsigned, four bytes
  constexpr std::uint8_t kTable = 0x3b, kCount = 0x03;
  std::uint8_t encodings[4];
  std::uint32_t count;
  if (!load(file, header.offset, encodings) || encodings[0] != 1 || encodings[2] != kCount || encodings[3] != kTable)
    return std::nullopt;
  const std::uint64_t pointer_size = (encodings[1] & 0x0f) == 0x0b || (encodings[1] & 0x0f) == 0x03 ? 4 : 8;
  if (!load(file, header.offset + 4 + pointer_size, count)) return std::nullopt;
  const std::uint64_t table = header.offset + 8 + pointer_size;
  const auto row_at = [&](std::uint64_t i, std::int32_t (&row)[2]) { return load(file, table + i * sizeof row, row); };
  const auto address_of = [&](std::int32_t distance) {
    return header.address + static_cast<std::uint64_t>(std::int64_t{distance});
  };
  std::int32_t row[2];
  std::uint64_t first = 0, end = count;  // the wanted row is below `end`
  while (first < end) {
    const std::uint64_t middle = first + (end - first) / 2;
    if (!row_at(middle, row)) return std::nullopt;
    if (address_of(row[0]) <= address) first = middle + 1;
    else end = middle;
  }
  if (first == 0 || !row_at(first - 1, row)) return std::nullopt;
  return address_of(row[1]);
}

// A mangled name refers to earlier parts ("S1_", "T_"), which may contain two references each: the demangled
// length can double with every reference. With this limit it is at most a megabyte.
bool has_few_references(std::string_view name) {
  constexpr int kMost = 24;
  int references = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] != 'S' && name[at] != 'T') continue;
    const std::size_t end = name.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", at + 1);
    if (end != name.npos && name[end] == '_') ++references;
  }
  return references <= kMost;
}

std::string plain_name(std::string name) {
  int status = -1;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      name.starts_with("_Z") && has_few_references(name) ? abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status) : nullptr, &std::free);
  if (readable != nullptr && status == 0) {
    name = readable.get();
    // The arguments are in the last parentheses; "(anonymous namespace)" precedes them.
    std::size_t at = name.rfind(')');
    for (int depth = 0; at != name.npos && at < name.size(); --at) {
      depth += name[at] == ')' ? 1 : name[at] == '(' ? -1 : 0;
      if (depth == 0) return name.substr(0, at);
    }
    return name;
  }
  return name.substr(0, name.find('.', 1));
}

}  // namespace

std::optional<FrameRule> frame_rule(Bytes file, std::uint64_t address) {
  const auto parts = loaded_parts(file);
  if (!parts || !parts->frames) return std::nullopt;
  const auto description = description_of(file, *parts->frames, address);
  const auto at = description ? parts->offset_of(*description) : std::nullopt;
  std::uint32_t length, distance;
  if (!at || !load(file, *at, length) || length == 0 || length == 0xffff'ffff || !load(file, *at + 4, distance) ||
      distance > *at + 4) {
    return std::nullopt;
  }
  const auto common = read_common_entry(file, *at + 4 - distance);
  if (!common || common->is_of_signals) return std::nullopt;
  const auto begin = read_pointer(file, *at + 8, *description + 8, common->encoding);
  const auto size = begin ? read_pointer(file, *at + 8 + begin->size, 0, common->encoding & 0x0f) : std::nullopt;
  if (!size || address < begin->value || address - begin->value >= size->value) return std::nullopt;
  std::uint64_t from = *at + 8 + begin->size + size->size;
  if (common->has_augmentation) {
    const auto skipped = read_unsigned(file, from);
    if (!skipped || *skipped > file.size()) return std::nullopt;
    from += *skipped;
  }
  Rows rows(file, *common, begin->value, address);
  if (!rows.execute(common->from, common->to)) return std::nullopt;
  rows.keep_initial();
  if (!rows.execute(from, std::min<std::uint64_t>(file.size(), *at + 4 + length))) return std::nullopt;
  const Row& row = rows.row();
  const bool is_known = row.cfa_register == kStackPointer || row.cfa_register == kFramePointer;
  if (!is_known || row.has_expression || row.return_address.kind != RegisterRule::Kind::kSaved) return std::nullopt;
  FrameRule rule;
  rule.is_of_frame_pointer = row.cfa_register == kFramePointer;
  rule.distance = row.cfa_offset;
  rule.return_address = row.return_address.offset;
  if (row.frame_pointer.kind == RegisterRule::Kind::kSaved) rule.frame_pointer = row.frame_pointer.offset;
  rule.is_frame_pointer_lost = row.frame_pointer.kind == RegisterRule::Kind::kLost;
  return rule;
}

namespace {

constexpr std::size_t kMostLetters = 200;  // of a name

// Calls visit(symbol, name) for the functions in the file's symbol table of this type, until it returns true.
template <class Visit>
bool visit_functions(Bytes file, std::uint32_t type, Visit visit) {
  const std::vector<Elf64_Shdr> sections = sections_of(file);
  const Elf64_Shdr* const table = section_of_type(file, sections, type);
  if (table == nullptr || table->sh_link >= sections.size()) return false;
  const std::uint64_t names = sections[table->sh_link].sh_offset;
  const auto name_of = [&](const Elf64_Sym& symbol) {
    std::string name;
    std::uint64_t letter_at = names + symbol.st_name;
    for (char letter = 0; name.size() < kMostLetters && load(file, letter_at++, letter) && letter > ' ' && letter <= '~';)
      name += letter;
    return name;
  };
  for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    if (!load(file, table->sh_offset + at, symbol)) return false;
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
    if (visit(symbol, name_of)) return true;
  }
  return false;
}

}  // namespace

std::optional<NamedFunction> function_at(Bytes file, std::uint64_t address) {
  std::optional<NamedFunction> found;
  const auto look = [&](const Elf64_Sym& symbol, const auto& name_of) {
    if (address < symbol.st_value || address - symbol.st_value >= symbol.st_size) return false;
    std::string name = name_of(symbol);
    if (name.empty()) return false;
    found = NamedFunction{plain_name(std::move(name)), symbol.st_value, symbol.st_value + symbol.st_size};
    return true;
  };
  if (!visit_functions(file, SHT_SYMTAB, look)) visit_functions(file, SHT_DYNSYM, look);
  return found;
}

std::optional<NamedFunction> exported_function(Bytes file, std::string_view wanted) {
  std::optional<NamedFunction> found;
  visit_functions(file, SHT_DYNSYM, [&](const Elf64_Sym& symbol, const auto& name_of) {
    if (name_of(symbol) != wanted) return false;
    found = NamedFunction{std::string(wanted), symbol.st_value, symbol.st_value + symbol.st_size};
    return true;
  });
  return found;
}

std::optional<std::uint64_t> first_address(Bytes file) {
  const auto parts = loaded_parts(file);
  if (!parts || parts->segments.empty()) return std::nullopt;
  constexpr std::uint64_t kPage = 4096;
  return std::ranges::min(parts->segments, {}, &LoadedParts::Segment::address).address / kPage * kPage;
}

}  // namespace verbatim::code
