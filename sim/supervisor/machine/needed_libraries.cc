#include "sim/supervisor/machine/needed_libraries.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include "sim/core/open_file.h"

namespace verbatim::supervisor {

namespace {

class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : fd_(open_file(path, O_RDONLY | O_CLOEXEC)) {}
  ~ElfFile() {
    if (fd_ >= 0) close(fd_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  // Reads as many whole elements as the file has.
  template <typename Element>
  std::vector<Element> read(std::uint64_t offset, std::uint64_t count) {
    std::vector<Element> elements(count);
    const std::size_t got = copy(offset, std::as_writable_bytes(std::span(elements)));
    elements.resize(got / sizeof(Element));
    return elements;
  }

 private:
  // Tables have many small rows beside each other: one system call reads this many bytes.
  static constexpr std::size_t kWindow = 4096;

  std::size_t copy(std::uint64_t offset, std::span<std::byte> to) {
    if (to.size() > kWindow) return read_file(offset, to);
    const auto is_behind = [&] { return offset < window_at_ || offset - window_at_ >= window_.size(); };
    if (is_behind() || to.size() > window_.size() - (offset - window_at_)) {
      window_.resize(kWindow);
      window_.resize(read_file(offset, window_));
      window_at_ = offset;
      if (is_behind()) return 0;  // the file ends before
    }
    const std::size_t from = offset - window_at_, length = std::min(to.size(), window_.size() - from);
    std::copy_n(window_.begin() + static_cast<std::ptrdiff_t>(from), length, to.begin());
    return length;
  }
  std::size_t read_file(std::uint64_t offset, std::span<std::byte> to) const {
    const ssize_t got = pread(fd_, to.data(), to.size(), static_cast<off_t>(offset));
    return got < 0 ? 0 : static_cast<std::size_t>(got);
  }

  int fd_;
  std::vector<std::byte> window_;  // bytes of the file from window_at_ on
  std::uint64_t window_at_ = 0;
};

constexpr std::uint64_t kMostEntries = 4096, kMostNames = 16 << 20;

// Tables of the dynamic section. They have addresses; a reader needs their offsets in the file.
class DynamicTables {
 public:
  explicit DynamicTables(ElfFile& file) : file_(file) {
    const auto header = file.read<Elf64_Ehdr>(0, 1);
    if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 || header[0].e_ident[EI_CLASS] != ELFCLASS64 ||
        header[0].e_phentsize != sizeof(Elf64_Phdr)) {
      return;
    }
    parts_ = file.read<Elf64_Phdr>(header[0].e_phoff, header[0].e_phnum);
    const auto dynamic = std::ranges::find(parts_, Elf64_Word{PT_DYNAMIC}, &Elf64_Phdr::p_type);
    if (dynamic == parts_.end()) return;
    entries_ = file.read<Elf64_Dyn>(dynamic->p_offset, std::min(dynamic->p_filesz / sizeof(Elf64_Dyn), kMostEntries));
    const auto end = std::ranges::find(entries_, Elf64_Sxword{DT_NULL}, &Elf64_Dyn::d_tag);
    entries_.erase(end, entries_.end());
  }

  const std::vector<Elf64_Dyn>& entries() const { return entries_; }

  // 0: there is no such entry.
  std::uint64_t value(Elf64_Sxword tag) const {
    const auto entry = std::ranges::find(entries_, tag, &Elf64_Dyn::d_tag);
    return entry == entries_.end() ? 0 : entry->d_un.d_val;
  }

  // Empty: the address is not within the file.
  template <typename Element>
  std::vector<Element> at(std::uint64_t address, std::uint64_t count) const {
    const auto holder = std::ranges::find_if(parts_, [address](const Elf64_Phdr& part) {
      return part.p_type == PT_LOAD && address >= part.p_vaddr && address - part.p_vaddr < part.p_filesz;
    });
    if (holder == parts_.end()) return {};
    return file_.read<Element>(holder->p_offset + (address - holder->p_vaddr), count);
  }

 private:
  ElfFile& file_;
  std::vector<Elf64_Phdr> parts_;
  std::vector<Elf64_Dyn> entries_;
};

// The name at this offset; empty: it is outside the names.
std::string name_at(const std::string& all, std::uint64_t offset) {
  if (offset >= all.size()) return "";
  const char* const text = all.c_str() + offset;
  return std::string(text, strnlen(text, PATH_MAX));  // names may share one long text
}

// Rows of a table in which each row says how far the next one is, and the first row's address and their number are in
// the dynamic section.
template <typename Row, typename Next, typename Use>
void for_each_row(const DynamicTables& tables, std::uint64_t address, std::uint64_t count, Next next, Use use) {
  for (std::uint64_t i = 0; i < std::min(count, kMostEntries); ++i) {
    const auto row = tables.at<Row>(address, 1);
    if (row.empty()) return;
    use(row[0], address);
    if (row[0].*next == 0) return;
    address += row[0].*next;
  }
}

}  // namespace

DynamicNames dynamic_names_of(const std::string& path) {
  ElfFile file(path);
  const DynamicTables tables(file);
  DynamicNames names;
  const auto bytes = tables.at<char>(tables.value(DT_STRTAB), std::min<std::uint64_t>(tables.value(DT_STRSZ), kMostNames));
  names.all.assign(bytes.begin(), bytes.end());
  for (const Elf64_Dyn& entry : tables.entries()) {
    if (entry.d_tag != DT_NEEDED || entry.d_un.d_val >= names.all.size()) continue;
    names.needed.push_back(name_at(names.all, entry.d_un.d_val));
  }
  const std::uint64_t run_path = tables.value(DT_RUNPATH) != 0 ? tables.value(DT_RUNPATH) : tables.value(DT_RPATH);
  if (run_path != 0) names.run_path = name_at(names.all, run_path);

  for_each_row<Elf64_Verneed>(
      tables, tables.value(DT_VERNEED), tables.value(DT_VERNEEDNUM), &Elf64_Verneed::vn_next,
      [&](const Elf64_Verneed& library, std::uint64_t library_at) {
        for_each_row<Elf64_Vernaux>(tables, library_at + library.vn_aux, library.vn_cnt, &Elf64_Vernaux::vna_next,
                                    [&](const Elf64_Vernaux& version, std::uint64_t) {
                                      if ((version.vna_flags & VER_FLG_WEAK) != 0 || names.needed_versions.size() >= kMostEntries)
                                        return;
                                      names.needed_versions.push_back(
                                          {name_at(names.all, library.vn_file), name_at(names.all, version.vna_name)});
                                    });
      });
  for_each_row<Elf64_Verdef>(tables, tables.value(DT_VERDEF), tables.value(DT_VERDEFNUM), &Elf64_Verdef::vd_next,
                             [&](const Elf64_Verdef& version, std::uint64_t at) {
                               const auto name = tables.at<Elf64_Verdaux>(at + version.vd_aux, 1);
                               if (!name.empty()) names.defined_versions.push_back(name_at(names.all, name[0].vda_name));
                             });
  return names;
}

bool DynamicNames::has_symbol(const std::string& name) const { return all.find('\0' + name + '\0') != std::string::npos; }

std::string DynamicNames::needed_first() const {
  constexpr std::array<std::string_view, 2> kNames = {"libasan.so", "libclang_rt.asan"};
  for (const std::string& name : needed) {
    if (std::ranges::any_of(kNames, [&name](std::string_view start) { return name.starts_with(start); })) return name;
  }
  return "";
}

}  // namespace verbatim::supervisor
