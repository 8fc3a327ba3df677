#include "sim/supervisor/machine/code_place.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <tuple>
#include <vector>

#include "sim/supervisor/code/line_table.h"
#include "sim/supervisor/machine/file_content.h"
#include "sim/supervisor/machine/foreign_memory.h"
#include "sim/supervisor/machine/memory_places.h"

namespace verbatim::supervisor {

namespace {

// As mapped_file_at(), without reading all mappings: the file's mappings are neighbours, and its first one begins it.
std::optional<MappedFile> file_at(pid_t native_pid, std::uint64_t address) {
  ForeignMemory memory(native_pid);
  const auto mapping = memory.mapping_at(address);
  if (!mapping) return std::nullopt;
  MappedFile file{memory.name_at(address), mapping->begin};
  if (file.path.empty()) return std::nullopt;
  std::uint64_t offset = mapping->offset;
  for (std::uint64_t at = file.first; offset != 0;) {
    const auto before = memory.mapping_at(at - 1);
    if (!before) return mapped_file_at(lines_of_mappings(native_pid), address);
    at = before->begin;
    if (before->inode != mapping->inode || before->device != mapping->device) continue;
    file.first = at;
    offset = before->offset;
  }
  return file;
}

// Lines of calls in files as they are now. Reading a large file's line table takes tens of milliseconds, and a program may
// repeat a mistake thousands of times.
class KnownLines {
 public:
  // Line of the call that returns to `address`; nullopt: the file has no line information for it.
  std::optional<std::string> line_at(const MappedFile& file, std::uint64_t address) {
    struct stat status {};
    if (::stat(file.path.c_str(), &status) != 0) return std::nullopt;
    const Call call{status.st_dev, status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec, file.first, address};
    if (const auto known = lines_.find(call); known != lines_.end()) return known->second;
    if (lines_.size() >= kMost) lines_.clear();
    return lines_.emplace(call, read_line(file, address)).first->second;
  }

 private:
  using Call = std::tuple<dev_t, ino_t, std::int64_t, std::int64_t, std::uint64_t, std::uint64_t>;
  static constexpr std::size_t kMost = 4096;

  static std::optional<std::string> read_line(const MappedFile& file, std::uint64_t address) {
    const std::vector<char> content = content_of_file(file.path);
    const auto bytes = std::as_bytes(std::span(content));
    if (bytes.size() < sizeof(Elf64_Ehdr)) return std::nullopt;
    const bool is_fixed = reinterpret_cast<const Elf64_Ehdr*>(content.data())->e_type == ET_EXEC;
    // The call instruction precedes its return address.
    return code::source_line(bytes, (is_fixed ? address : address - file.first) - 1);
  }

  std::map<Call, std::optional<std::string>> lines_;
};

std::string text_of(const MappedFile& file, std::uint64_t address) {
  return fmt::format("{}+{:#x}", file.path.substr(file.path.rfind('/') + 1), address - file.first);
}

}  // namespace

std::optional<MappedFile> mapped_file_at(const std::vector<std::string>& mappings, std::uint64_t address) {
  MappedFile file;
  for (const std::string& line : mappings) {
    std::istringstream words(line);
    std::uint64_t from = 0, to = 0;
    char dash = 0;
    std::string access, offset, device, inode, path;
    words >> std::hex >> from >> dash >> to >> access >> offset >> device >> inode >> std::ws;
    std::getline(words, path);
    if (!path.empty() && path != file.path) file = {path, from};
    if (address < from || address >= to) continue;
    if (path.empty()) return std::nullopt;
    return file;
  }
  return std::nullopt;
}

bool is_return_into_program(ProcessMemory& memory, std::uint64_t address) {
  constexpr std::size_t kLongest = 7;  // bytes of a call
  std::array<std::uint8_t, kLongest> bytes{};
  if (address < kLongest || !memory.read(address - kLongest, std::as_writable_bytes(std::span(bytes)))) return false;
  // CALL r/m64 (FF /2) of `length` bytes, addressing bytes included.
  const auto is_indirect = [&](int length) {
    const std::uint8_t* const call = bytes.data() + kLongest - length;
    return call[0] == 0xff && (call[1] >> 3 & 7) == 2;
  };
  const auto is_any = [&](auto... lengths) { return (is_indirect(lengths) || ...); };
  if (bytes[kLongest - 5] != 0xe8 && !is_any(2, 3, 4, 6, 7)) return false;
  const std::string path = memory.name_at(address), name = path.substr(path.rfind('/') + 1);
  return !name.empty() && !name.starts_with("lib") && !name.starts_with("ld-") && !name.starts_with('[');
}

bool is_of_system_library(ProcessMemory& memory, std::uint64_t address) {
  const std::string path = memory.name_at(address);
  return path.starts_with("/usr/lib") || path.starts_with("/lib");
}

std::string place_in_files(pid_t native_pid, std::uint64_t address) {
  const auto file = file_at(native_pid, address);
  return file ? text_of(*file, address) : fmt::format("{:#x}", address);
}

bool is_in_header_of_verbs(const std::string& place) { return place.starts_with("verbs.h:") || place.starts_with("rdma_verbs.h:"); }

std::string place_of_call(pid_t native_pid, std::uint64_t address) {
  if (address == 0) return "";
  const auto file = file_at(native_pid, address);
  if (!file) return fmt::format("{:#x}", address);
  static KnownLines known;
  const auto line = known.line_at(*file, address);
  return line ? *line : text_of(*file, address);
}

}  // namespace verbatim::supervisor
