#include "sim/supervisor/machine/needed_libraries.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace verbatim::supervisor {

namespace {

class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~ElfFile() {
    if (fd_ >= 0) close(fd_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  // Reads as many whole elements as the file has.
  template <typename Element>
  std::vector<Element> read(std::uint64_t offset, std::uint64_t count) const {
    std::vector<Element> elements(count);
    const ssize_t got = pread(fd_, elements.data(), count * sizeof(Element), static_cast<off_t>(offset));
    elements.resize(got < 0 ? 0 : static_cast<std::size_t>(got) / sizeof(Element));
    return elements;
  }

 private:
  int fd_;
};

}  // namespace

DynamicNames dynamic_names_of(const std::string& path) {
  constexpr std::uint64_t kMostEntries = 4096, kMostNames = 16 << 20;
  const ElfFile file(path);
  const auto header = file.read<Elf64_Ehdr>(0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 || header[0].e_ident[EI_CLASS] != ELFCLASS64 ||
      header[0].e_phentsize != sizeof(Elf64_Phdr)) {
    return {};
  }
  const auto parts = file.read<Elf64_Phdr>(header[0].e_phoff, header[0].e_phnum);
  const auto dynamic = std::ranges::find(parts, Elf64_Word{PT_DYNAMIC}, &Elf64_Phdr::p_type);
  if (dynamic == parts.end()) return {};
  const auto entries = file.read<Elf64_Dyn>(dynamic->p_offset, std::min(dynamic->p_filesz / sizeof(Elf64_Dyn), kMostEntries));
  std::uint64_t at = 0, size = 0;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_STRTAB) at = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) size = entry.d_un.d_val;
  }
  const auto holder = std::ranges::find_if(parts, [at](const Elf64_Phdr& part) {
    return part.p_type == PT_LOAD && at >= part.p_vaddr && at - part.p_vaddr < part.p_filesz;
  });
  if (holder == parts.end()) return {};
  const auto bytes = file.read<char>(holder->p_offset + (at - holder->p_vaddr), std::min(size, kMostNames));
  DynamicNames names;
  names.all.assign(bytes.begin(), bytes.end());
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    const std::uint64_t name = entry.d_un.d_val;
    if (entry.d_tag != DT_NEEDED || name >= names.all.size()) continue;
    const char* const text = names.all.c_str() + name;
    names.needed.emplace_back(text, strnlen(text, PATH_MAX));  // entries may share one long text
  }
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
