#include "sim/supervisor/code/line_table.h"

#include <climits>
#include <cstring>
#include <string_view>
#include <vector>

#include "sim/supervisor/code/elf_tables.h"

namespace verbatim::code {

namespace {

using Bytes = std::span<const std::byte>;

// Content types and forms of DWARF 5 (6.2.4.1, 7.5.6) that compilers use in line tables.
constexpr std::uint64_t kPath = 1, kFolder = 2;
enum Form : std::uint64_t {
  kData2 = 0x05,
  kData4 = 0x06,
  kData8 = 0x07,
  kString = 0x08,
  kBlock = 0x09,
  kData1 = 0x0b,
  kStringOffset = 0x0e,
  kUdata = 0x0f,
  kData16 = 0x1e,
  kLineStringOffset = 0x1f,
};

// Reads from the front. After the end, numbers read as zero and failed() is true.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : bytes_(bytes) {}

  bool failed() const { return failed_; }
  bool at_end() const { return failed_ || bytes_.empty(); }
  void fail() { failed_ = true; }
  void skip(std::uint64_t count) {
    if (count > bytes_.size()) {
      failed_ = true;
      count = bytes_.size();
    }
    bytes_ = bytes_.subspan(count);
  }
  Cursor take(std::uint64_t count) {
    Cursor part(bytes_.first(std::min<std::uint64_t>(count, bytes_.size())));
    skip(count);
    return part;
  }
  template <class T>
  T number() {
    T value{};
    if (bytes_.size() < sizeof value) {
      skip(sizeof value);
      return T{};
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    skip(sizeof value);
    return value;
  }
  std::uint64_t unsigned_leb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = number<std::uint8_t>();
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    failed_ = true;
    return 0;
  }
  std::int64_t signed_leb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
      const auto byte = number<std::uint8_t>();
      value |= std::uint64_t{byte & 0x7fu} << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if (shift < 64 && (byte & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
      return static_cast<std::int64_t>(value);
    }
    failed_ = true;
    return 0;
  }
  // Without the terminating zero; longer than PATH_MAX fails.
  std::string_view text() {
    const auto* first = reinterpret_cast<const char*>(bytes_.data());
    const std::size_t most = std::min<std::size_t>(bytes_.size(), PATH_MAX);
    const std::string_view found(first, strnlen(first, most));
    if (found.size() == most) {
      failed_ = true;
      return {};
    }
    skip(found.size() + 1);
    return found;
  }

 private:
  Bytes bytes_;
  bool failed_ = false;
};

struct Contents {
  Bytes lines, strings, line_strings, symbols;
};

std::optional<Contents> contents_of(Bytes file) {
  const auto header = elf_header(file);
  if (!header) return std::nullopt;
  const std::vector<Elf64_Shdr> sections = sections_of(file);
  const auto content_of = [&](const Elf64_Shdr& section) -> std::optional<Bytes> {
    if (section.sh_type == SHT_NOBITS || section.sh_offset > file.size() || section.sh_size > file.size() - section.sh_offset) {
      return std::nullopt;
    }
    return file.subspan(section.sh_offset, section.sh_size);
  };
  const auto names = header->e_shstrndx < sections.size() ? content_of(sections[header->e_shstrndx]) : std::nullopt;
  if (!names) return std::nullopt;
  Contents contents;
  for (const Elf64_Shdr& section : sections) {
    const auto content = content_of(section);
    if (!content || (section.sh_flags & SHF_COMPRESSED) != 0 || section.sh_name >= names->size()) continue;
    const std::string_view name = Cursor(names->subspan(section.sh_name)).text();
    if (name == ".debug_line") contents.lines = *content;
    if (name == ".debug_str") contents.strings = *content;
    if (name == ".debug_line_str") contents.line_strings = *content;
    if (name == ".symtab") contents.symbols = *content;
  }
  if (contents.lines.empty()) return std::nullopt;
  return contents;
}

// Start of the function that contains `address`; 0: no symbol covers it.
std::uint64_t function_of(Bytes symbols, std::uint64_t address) {
  Elf64_Sym symbol;
  for (std::size_t at = 0; at + sizeof symbol <= symbols.size(); at += sizeof symbol) {
    std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
    const bool is_code = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
    if (is_code && symbol.st_value <= address && address - symbol.st_value < symbol.st_size) return symbol.st_value;
  }
  return 0;
}

// Line table of one compilation unit.
class Unit {
 public:
  // `unit` begins after the unit's length.
  Unit(const Contents& contents, Cursor unit, bool is_64) : contents_(contents), is_64_(is_64), program_(Bytes()) {
    version_ = unit.number<std::uint16_t>();
    if (version_ < 2 || version_ > 5) return;
    if (version_ == 5) unit.skip(2);  // address size, segment selector size
    Cursor header = unit.take(offset(unit));
    instruction_length_ = header.number<std::uint8_t>();
    if (version_ >= 4) header.skip(1);  // operations per instruction
    header.skip(1);                     // default_is_stmt
    line_base_ = header.number<std::int8_t>();
    line_range_ = header.number<std::uint8_t>();
    opcode_base_ = header.number<std::uint8_t>();
    if (line_range_ == 0 || opcode_base_ == 0) return;
    for (unsigned i = 1; i < opcode_base_; ++i) operands_.push_back(header.number<std::uint8_t>());
    version_ == 5 ? read_names(header) : read_old_names(header);
    if (header.failed()) return;
    program_ = unit;
  }

  // `function`: start of the function that contains `address`.
  std::optional<std::string> find(std::uint64_t address, std::uint64_t function) {
    Row row, before, own{.line = 0};
    bool has_before = false;
    // A row covers its address up to that of the next row of its sequence.
    const auto emit = [&](bool ends) -> bool {
      if (has_before && before.address <= address && address < row.address) {
        // A row of a header file is replaced by the last row of the program's own files before it in the same
        // function. A function of the header that is not inlined has no such row.
        if (is_header(before) && own.line > 0 && own.address >= function) before = own;
        return true;
      }
      before = row;
      has_before = !ends;
      if (ends) own = {.line = 0};
      if (!ends && !is_header(row)) own = row;
      return false;
    };
    while (!program_.at_end()) {
      const auto opcode = program_.number<std::uint8_t>();
      if (opcode >= opcode_base_) {
        const unsigned adjusted = opcode - opcode_base_;
        row.address += std::uint64_t{adjusted / line_range_} * instruction_length_;
        row.line += static_cast<std::uint64_t>(std::int64_t{line_base_}) + adjusted % line_range_;
        if (emit(false)) return text_of(before);
        continue;
      }
      switch (opcode) {
        case 0: {
          Cursor extended = program_.take(program_.unsigned_leb());
          const auto kind = extended.number<std::uint8_t>();
          if (kind == 1) {  // DW_LNE_end_sequence
            if (emit(true)) return text_of(before);
            row = {};
          } else if (kind == 2) {
            row.address = extended.number<std::uint64_t>();
          }
          break;
        }
        case 1:  // DW_LNS_copy
          if (emit(false)) return text_of(before);
          break;
        case 2:  // DW_LNS_advance_pc
          row.address += program_.unsigned_leb() * instruction_length_;
          break;
        case 3:  // DW_LNS_advance_line
          row.line += static_cast<std::uint64_t>(program_.signed_leb());
          break;
        case 4:
          row.file = program_.unsigned_leb();
          break;
        case 8:  // DW_LNS_const_add_pc: as special opcode 255, without a row
          row.address += std::uint64_t{(255u - opcode_base_) / line_range_} * instruction_length_;
          break;
        case 9:
          row.address += program_.number<std::uint16_t>();
          break;
        default:
          for (unsigned i = 0; i < operands_[opcode - 1u]; ++i) program_.unsigned_leb();
      }
    }
    return std::nullopt;
  }

 private:
  struct Row {
    std::uint64_t address = 0, file = 1;
    std::uint64_t line = 1;  // modulo 2^64 while counting forwards and backwards
  };
  // A file of the unit.
  struct File {
    std::string_view name;
    bool is_header = false;
  };

  std::uint64_t offset(Cursor& from) const { return is_64_ ? from.number<std::uint64_t>() : from.number<std::uint32_t>(); }

  const File* file_of(const Row& row) const {
    const std::uint64_t index = version_ == 5 ? row.file : row.file - 1;
    return index < files_.size() ? &files_[index] : nullptr;
  }
  // Inline functions of library headers are no place in a program.
  bool is_header(const Row& row) const {
    const File* const file = file_of(row);
    return file != nullptr && file->is_header;
  }
  std::optional<std::string> text_of(const Row& row) const {
    const File* const file = file_of(row);
    if (file == nullptr || file->name.empty() || row.line == 0 || row.line > INT_MAX) return std::nullopt;
    return std::string(file->name.substr(file->name.rfind('/') + 1)) + ":" + std::to_string(row.line);
  }

  // Far more than compilers write; in a damaged table an entry can be one byte.
  static constexpr std::size_t kMostNames = 1 << 17;

  void add_file(Cursor& header, std::string_view name, const std::vector<std::string_view>& folders, std::uint64_t folder) {
    std::string path(name);
    if (!name.starts_with('/') && folder < folders.size()) path = std::string(folders[folder]) + "/" + path;
    files_.push_back({name, path.find("/include/") != path.npos});
    if (files_.size() == kMostNames) header.fail();
  }
  static void add_folder(Cursor& header, std::string_view name, std::vector<std::string_view>& folders) {
    folders.push_back(name);
    if (folders.size() == kMostNames) header.fail();
  }

  void read_old_names(Cursor& header) {
    std::vector<std::string_view> folders = {""};
    while (!header.failed()) {
      add_folder(header, header.text(), folders);
      if (folders.back().empty()) break;
    }
    while (!header.failed()) {
      const std::string_view name = header.text();
      if (name.empty()) return;
      add_file(header, name, folders, header.unsigned_leb());
      for (int i = 0; i < 2; ++i) header.unsigned_leb();  // time, length
    }
  }

  // Attribute value of an entry: text or number.
  struct Value {
    std::string_view text;
    std::uint64_t number = 0;
  };
  Value value_of(Cursor& header, std::uint64_t form) const {
    const auto at = [&](Bytes strings) {
      const std::uint64_t where = offset(header);
      return Value{where < strings.size() ? Cursor(strings.subspan(where)).text() : std::string_view()};
    };
    switch (form) {
      case kString:
        return {header.text()};
      case kStringOffset:
        return at(contents_.strings);
      case kLineStringOffset:
        return at(contents_.line_strings);
      case kData1:
        return {"", header.number<std::uint8_t>()};
      case kData2:
        return {"", header.number<std::uint16_t>()};
      case kData4:
        return {"", header.number<std::uint32_t>()};
      case kData8:
        return {"", header.number<std::uint64_t>()};
      case kData16:
        header.skip(16);
        break;
      case kUdata:
        return {"", header.unsigned_leb()};
      case kBlock:
        header.skip(header.unsigned_leb());
        break;
      default:
        header.skip(~std::uint64_t{0});
    }
    return {};
  }

  // Folders, then files: entry format, then entries.
  void read_names(Cursor& header) {
    std::vector<std::string_view> folders;
    for (const bool of_files : {false, true}) {
      std::vector<std::pair<std::uint64_t, std::uint64_t>> formats;
      const auto columns = header.number<std::uint8_t>();
      for (unsigned i = 0; i < columns; ++i) {
        const std::uint64_t content = header.unsigned_leb();
        formats.emplace_back(content, header.unsigned_leb());
      }
      const std::uint64_t count = header.unsigned_leb();
      for (std::uint64_t i = 0; i < count && !header.failed(); ++i) {
        std::string_view path;
        std::uint64_t folder = 0;
        for (const auto& [content, form] : formats) {
          const Value value = value_of(header, form);
          if (content == kPath) path = value.text;
          if (content == kFolder) folder = value.number;
        }
        of_files ? add_file(header, path, folders, folder) : add_folder(header, path, folders);
        if (formats.empty()) break;
      }
    }
  }

  const Contents& contents_;
  bool is_64_;
  std::uint16_t version_ = 0;
  std::uint8_t instruction_length_ = 1, line_range_ = 1, opcode_base_ = 1;
  std::int8_t line_base_ = 0;
  std::vector<std::uint8_t> operands_;
  std::vector<File> files_;
  Cursor program_;
};

}  // namespace

std::optional<std::string> source_line(Bytes file, std::uint64_t address) {
  const auto contents = contents_of(file);
  if (!contents) return std::nullopt;
  const std::uint64_t function = function_of(contents->symbols, address);
  Cursor units(contents->lines);
  while (!units.at_end()) {
    std::uint64_t length = units.number<std::uint32_t>();
    const bool is_64 = length == 0xffff'ffff;
    if (is_64) length = units.number<std::uint64_t>();
    if (auto line = Unit(*contents, units.take(length), is_64).find(address, function)) return line;
  }
  return std::nullopt;
}

}  // namespace verbatim::code
