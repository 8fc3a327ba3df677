#include "sim/supervisor/machine/memory_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <sstream>

#include "sim/supervisor/machine/input_stream.h"
#include "verbs_shim/protocol/layout.h"

namespace verbatim::supervisor {

namespace {

constexpr std::uint64_t kPlacesPage = 4096;
// Load address of position-independent programs on Linux without randomisation: two thirds of
// the address space.
constexpr std::uint64_t kProgramBase = protocol::kAddressSpaceEnd / 3 * 2;
// End of the loader without randomisation.
constexpr std::uint64_t kUsualLoaderEnd = protocol::kTakenEnd;

std::uint64_t page_of(std::uint64_t address) { return address & ~(kPlacesPage - 1); }
std::uint64_t behind_page(std::uint64_t address) { return page_of(address + kPlacesPage - 1); }

struct Extent {
  std::uint64_t begin = std::numeric_limits<std::uint64_t>::max(), end = 0, alignment = 1;
};

Extent extent_of(std::span<const Elf64_Phdr> headers) {
  Extent extent;
  for (const Elf64_Phdr& part : headers) {
    if (part.p_type != PT_LOAD) continue;
    extent.begin = std::min(extent.begin, page_of(part.p_vaddr));
    extent.end = std::max(extent.end, behind_page(part.p_vaddr + part.p_memsz));
    if (std::has_single_bit(part.p_align)) extent.alignment = std::max<std::uint64_t>(extent.alignment, part.p_align);
  }
  return extent;
}

// Difference between memory addresses and file addresses, from the address of the program headers in both.
std::optional<std::uint64_t> bias_of(const std::vector<Mapping>& all, const LoadedImages& images) {
  const std::uint64_t at = images.program_headers_at;
  const auto mapping =
      std::find_if(all.begin(), all.end(), [at](const Mapping& one) { return at >= one.begin && at < one.end; });
  if (mapping == all.end()) return std::nullopt;
  const std::uint64_t offset = mapping->offset + (at - mapping->begin);
  for (const Elf64_Phdr& part : images.program) {
    if (part.p_type == PT_LOAD && offset >= part.p_offset && offset < part.p_offset + part.p_filesz)
      return at - (part.p_vaddr + (offset - part.p_offset));
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> lines_of_mappings(pid_t pid) {
  for (int tries = 0; tries < 2; ++tries) {
    std::vector<std::string> lines;
    InputStream file(fmt::format("/proc/{}/maps", pid));
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    if (!file.bad()) return lines;
  }
  return {};
}

std::vector<Mapping> mappings_of(pid_t pid) {
  std::vector<Mapping> all;
  for (const std::string& line : lines_of_mappings(pid)) {
    Mapping mapping{};
    char rights[5] = {};
    int name = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx %*s %*s %n", &mapping.begin, &mapping.end, rights, &mapping.offset,
                    &name) != 4) {
      continue;
    }
    mapping.writable = rights[1] == 'w';
    mapping.executable = rights[2] == 'x';
    if (name > 0) mapping.name = line.substr(static_cast<std::size_t>(name));
    all.push_back(std::move(mapping));
  }
  return all;
}

std::optional<Places> places_of(const std::vector<Mapping>& all, const LoadedImages& images, std::uint64_t libraries_end) {
  const std::optional<std::uint64_t> bias = bias_of(all, images);
  const Extent program = extent_of(images.program), loader = extent_of(images.loader);
  const auto stack = std::find_if(all.begin(), all.end(), [&](const Mapping& one) {
    return images.stack_pointer >= one.begin && images.stack_pointer < one.end;
  });
  if (!bias || program.end == 0 || loader.end == 0 || stack == all.end()) return std::nullopt;

  Places places;
  places.program = {program.begin + *bias, program.end + *bias, 0};
  if (*bias != 0) places.program.by = page_of((kProgramBase & ~(program.alignment - 1)) - program.begin) - *bias;
  places.loader = {loader.begin + images.loader_base, loader.end + images.loader_base, 0};
  places.loader.by = libraries_end - places.loader.end;
  places.libraries_end = libraries_end;
  places.stack = {stack->begin, stack->end, protocol::kAddressSpaceEnd - stack->end};
  places.program_break = places.program.end + places.program.by;
  places.were_random = places.program.by != 0 || places.stack.by != 0 || places.loader.end != kUsualLoaderEnd;
  return places;
}

std::optional<prctl_mm_map> records_of(pid_t pid) {
  InputStream file(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::array<std::uint64_t, 52> field{};  // field numbers of proc(5)
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string word;
  for (std::size_t i = 3; i < field.size() && fields >> word; ++i) field[i] = std::strtoull(word.c_str(), nullptr, 10);
  if (field[28] == 0 || field[51] == 0) return std::nullopt;
  prctl_mm_map records{};
  records.start_code = field[26], records.end_code = field[27], records.start_stack = field[28];
  records.start_data = field[45], records.end_data = field[46], records.start_brk = records.brk = field[47];
  records.arg_start = field[48], records.arg_end = field[49], records.env_start = field[50], records.env_end = field[51];
  records.exe_fd = ~0u;
  return records;
}

void Places::move_records(prctl_mm_map& records) const {
  for (auto* const one : {&records.start_code, &records.end_code, &records.start_data, &records.end_data})
    *one = program.moved(*one);
  for (auto* const one : {&records.start_stack, &records.arg_start, &records.arg_end, &records.env_start, &records.env_end})
    *one = stack.moved(*one);
  records.start_brk = records.brk = program_break;
  // required by some kernels
  records.end_data = std::min<std::uint64_t>(records.end_data, program_break - 1);
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> free_ranges(const std::vector<Mapping>& all, std::uint64_t begin,
                                                                 std::uint64_t end) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const Mapping& mapping : all) {
    if (mapping.end <= begin || mapping.begin >= end) continue;
    if (mapping.begin > begin) ranges.emplace_back(begin, mapping.begin);
    begin = mapping.end;
  }
  if (begin < end) ranges.emplace_back(begin, end);
  return ranges;
}

}  // namespace verbatim::supervisor
