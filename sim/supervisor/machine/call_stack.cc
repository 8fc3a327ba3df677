#include "sim/supervisor/machine/call_stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <utility>

#include "sim/supervisor/code/call_frames.h"
#include "sim/supervisor/machine/code_place.h"
#include "sim/supervisor/machine/file_content.h"
#include "sim/supervisor/machine/memory_places.h"

namespace verbatim::supervisor {

namespace {

constexpr std::size_t kMostWalked = 64, kMostShown = 8;  // functions

// Files mapped in a process, as of the construction; each is read once.
class MappedFiles {
 public:
  explicit MappedFiles(pid_t native_pid) : mappings_(lines_of_mappings(native_pid)) {}

  struct Place {
    const std::vector<char>* content;
    std::uint64_t address;  // address in the file, before relocation
    std::string name;       // file name without folders
    std::span<const std::byte> bytes() const { return std::as_bytes(std::span(*content)); }
  };
  // nullopt: no ELF file is mapped there.
  std::optional<Place> at(std::uint64_t address) {
    const auto file = mapped_file_at(mappings_, address);
    if (!file || !file->path.starts_with('/')) return std::nullopt;
    const auto [it, is_new] = contents_.try_emplace(file->path);
    if (is_new) it->second = content_of_file(file->path);
    const auto first = code::first_address(std::as_bytes(std::span(it->second)));
    if (!first) return std::nullopt;
    return Place{&it->second, address - file->first + *first, file->path.substr(file->path.rfind('/') + 1)};
  }

 private:
  const std::vector<std::string> mappings_;
  std::map<std::string, std::vector<char>> contents_;
};

bool is_of_program(const MappedFiles::Place& place) { return !place.name.starts_with("lib") && !place.name.starts_with("ld-"); }

std::vector<std::uint64_t> walk(MappedFiles& files, StackStart at, const StackMemory& memory) {
  std::vector<std::uint64_t> addresses;
  bool is_frame_known = true;
  while (addresses.size() < kMostWalked && at.address != 0) {
    addresses.push_back(at.address);
    const auto place = files.at(at.address - 1);
    const auto rule = place ? code::frame_rule(place->bytes(), place->address) : std::nullopt;
    if (!rule || (rule->is_of_frame_pointer && !is_frame_known)) break;
    const std::uint64_t outer = (rule->is_of_frame_pointer ? at.frame : at.stack) + static_cast<std::uint64_t>(rule->distance);
    if (outer <= at.stack) break;  // stacks grow downwards
    const auto address = memory(outer + static_cast<std::uint64_t>(rule->return_address));
    if (!address) break;
    if (rule->frame_pointer) {
      const auto frame = memory(outer + static_cast<std::uint64_t>(*rule->frame_pointer));
      is_frame_known = frame.has_value();
      at.frame = frame.value_or(0);
    }
    if (rule->is_frame_pointer_lost) is_frame_known = false;
    at.stack = outer;
    at.address = *address;
  }
  return addresses;
}

}  // namespace

std::vector<std::uint64_t> return_addresses(pid_t native_pid, const StackStart& start, const StackMemory& memory) {
  MappedFiles files(native_pid);
  return walk(files, start, memory);
}

std::string callers_text(pid_t native_pid, std::uint64_t caller, const StackStart& start, const StackMemory& memory) {
  MappedFiles files(native_pid);
  const auto function_of = [&](std::uint64_t address) -> std::optional<std::pair<std::string, std::uint64_t>> {
    const auto place = files.at(address - 1);
    const auto function = place ? code::function_at(place->bytes(), place->address) : std::nullopt;
    return function ? std::optional(std::pair(function->name, address - 1 - (place->address - function->begin))) : std::nullopt;
  };
  const std::vector<std::uint64_t> addresses = walk(files, start, memory);
  const auto own = function_of(caller);
  const auto here = std::ranges::find_if(addresses, [&](std::uint64_t address) {
    return address == caller || (own && function_of(address) == own);
  });
  if (here == addresses.end()) return "";
  std::string text = own ? "in " + own->first : "";
  std::size_t shown = 1;
  for (auto it = here + 1; it != addresses.end() && shown < kMostShown; ++it) {
    const auto place = files.at(*it - 1);
    if (!place) break;
    if (!is_of_program(*place)) continue;
    const auto function = function_of(*it);
    // _start is not shown: nobody has written it.
    if (function && function->first == "_start") break;
    text += (text.empty() ? "from " : ", from ") + (function ? function->first + " at " : "") + place_of_call(native_pid, *it);
    ++shown;
  }
  return text.empty() ? "" : " (" + text + ")";
}

}  // namespace verbatim::supervisor
