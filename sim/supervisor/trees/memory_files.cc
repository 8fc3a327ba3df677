#include "sim/supervisor/trees/memory_files.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <sstream>

#include "sim/supervisor/trees/changing_memory.h"
#include "sim/supervisor/trees/machine_files.h"
#include "sim/supervisor/trees/virtual_paths.h"

namespace verbatim::supervisor {

namespace {

using NumberOf = std::function<std::uint64_t(std::uint64_t device, std::uint64_t inode)>;

std::string map_line(std::string line, const std::string& name) {
  constexpr std::size_t kNameColumn = 73;
  line += std::string(line.size() < kNameColumn ? kNameColumn - line.size() : 1, ' ');
  return line + name;
}

// /proc/PID/maps without properties of the machine: inode and device numbers, the simulator's installation
// folder, and whether the kernel maps [vsyscall]. [vdso] and [vvar] appear as inaccessible memory.
std::string maps_of(Process& process, const std::string& native, const HostPaths& paths,
                    const NumberOf& number_of) {
  const std::string maps = with_rights_of_program(content_of(native + "/maps"), changing_ranges_of(process));
  // ThreadSanitizer kills a program that has accessible memory in this range.
  const bool is_watched =
      maps.find(fmt::format("\n{:x}-", protocol::kWatchedLibrariesEnd)) != std::string::npos;
  std::string text;
  text.reserve(maps.size());
  for (std::size_t at = 0, next = 0; at < maps.size(); at = next) {
    next = std::min(maps.find('\n', at), maps.size() - 1) + 1;
    const std::string_view line(maps.data() + at, next - at);  // with its newline
    std::string_view rest = line;
    const auto field = [&rest] {
      const std::string_view first = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(first.size() + 1, rest.size()));
      return first;
    };
    const std::string_view range = field(), given_rights = field(), offset = field();
    const std::size_t named = rest.find_first_of("/[");
    const std::string_view name =
        named == std::string_view::npos ? "" : rest.substr(named, rest.find('\n') - named);
    if (name == "[vsyscall]") continue;
    std::uint64_t from = 0;
    std::from_chars(range.data(), range.data() + range.size(), from, 16);
    const bool is_closed = is_watched && from >= protocol::kShimStart && from < protocol::kShimEnd;
    const std::string_view rights = is_closed ? "---p" : given_rights;
    const bool is_taken =
        from >= protocol::kTakenBegin && from < protocol::kTakenEnd && name.empty() && rights == "---p";
    if (is_taken) continue;  // reserved by the simulator, to keep the range free
    if (name == "[vdso]" || name.starts_with("[vvar")) {
      text.append(range) += " ---p 00000000 00:00 0 \n";
    } else if (name.starts_with("/memfd:")) {
      text +=
          map_line(fmt::format("{} {} {} 00:01 0", range, rights, offset), "/memfd:shared (deleted)") + "\n";
    } else if (name.starts_with('/')) {
      // The simulator's installation folder and the machine's inode numbers are not part of the run.
      const bool of_shim = from >= protocol::kRuntimeImage && from < protocol::kRegionAddress;
      const auto number_on_host = [&] {
        unsigned major_number = 0, minor_number = 0;
        unsigned long inode = 0;
        std::sscanf(std::string(rest).c_str(), "%x:%x %lu", &major_number, &minor_number, &inode);
        return number_of(makedev(major_number, minor_number), inode);
      };
      const std::string seen = of_shim ? "/usr/lib/verbatim" + std::string(name.substr(name.rfind('/')))
                                       : with_seen_number(paths.seen(std::string(name)), number_on_host);
      const std::uint64_t number = protocol::number_of_path(seen.data(), seen.size()) & 0xff'ffff;
      text += map_line(fmt::format("{} {} {} 08:01 {}", range, rights, offset, number), seen) + "\n";
    } else if (is_closed) {
      text += fmt::format("{} {} 00000000 00:00 0 \n", range, rights);
    } else {
      text += line;
    }
  }
  return text;
}

// A write to /proc/PID/oom_score_adj. No process has CAP_SYS_RESOURCE, without which the value cannot become
// negative.
int adjust_oom_score(Process& process, std::string_view text) {
  constexpr int kMost = 1000;  // OOM_SCORE_ADJ_MAX
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  if (text.starts_with('+')) text.remove_prefix(1);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < -kMost || value > kMost)
    return EINVAL;
  if (value < 0) return EACCES;
  process.oom_score_adjustment = value;
  return 0;
}

}  // namespace

void add_memory_files(VirtualTree& tree, Process& process, const std::string& folder,
                      const std::string& native, const HostPaths& paths, const NumberOf& number_of) {
  const auto maps = [&process, native, &paths, number_of] {
    return maps_of(process, native, paths, number_of);
  };
  tree.add_file(folder + "/maps", maps);
  static constexpr const char* kNothing =
      "Rss:                   0 kB\nPss:                   0 kB\nShared_Clean:          0 kB\n"
      "Shared_Dirty:          0 kB\nPrivate_Clean:         0 kB\nPrivate_Dirty:         0 kB\n"
      "Referenced:            0 kB\nAnonymous:             0 kB\nSwap:                  0 kB\n"
      "Locked:                0 kB\n";
  tree.add_file(folder + "/smaps", [maps] {
    std::istringstream lines(maps());
    std::string text;
    for (std::string line; std::getline(lines, line);) {
      std::uint64_t from = 0, to = 0;
      std::sscanf(line.c_str(), "%lx-%lx", &from, &to);
      text += fmt::format(
          "{}\nSize:           {:8} kB\nKernelPageSize:        4 kB\n"
          "MMUPageSize:           4 kB\n{}",
          line, (to - from) / 1024, kNothing);
    }
    return text;
  });
  tree.add_file(folder + "/smaps_rollup",
                fmt::format("000000000000-7fffffffffff ---p 00000000 00:00 0 [rollup]\n{}", kNothing));
  tree.add_file(folder + "/numa_maps", [maps] {
    std::istringstream lines(maps());
    std::string text;
    for (std::string line; std::getline(lines, line);) text += line.substr(0, line.find('-')) + " default\n";
    return text;
  });
  tree.add_file(folder + "/oom_score", "0\n");
  tree.add_file(folder + "/oom_score_adj",
                [&process] { return fmt::format("{}\n", process.oom_score_adjustment); });
  tree.at(folder + "/oom_score_adj")->store = [&process](std::string_view text) {
    return adjust_oom_score(process, text);
  };
  tree.add_file(folder + "/oom_adj", "0\n");
  tree.add_file(folder + "/coredump_filter", "00000033\n");
}

}  // namespace verbatim::supervisor
