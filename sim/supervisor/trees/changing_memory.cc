#include "sim/supervisor/trees/changing_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <sstream>

namespace verbatim::supervisor {

namespace {

using protocol::ChangingRange;

// A line of /proc/PID/maps.
struct MapLine {
  std::uint64_t begin = 0, end = 0;
  std::string rights;
  std::uint64_t offset = 0;
  std::string rest;  // device, inode and name
  bool is_of_file = false;
  bool is_changing = false;

  static std::optional<MapLine> of(const std::string& text) {
    MapLine line;
    char rights[5];
    std::uint64_t inode = 0;
    int rest = 0, name = 0;
    const int found =
        std::sscanf(text.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %n%*x:%*x %" SCNu64 "%n",
                    &line.begin, &line.end, rights, &line.offset, &rest, &inode, &name);
    if (found != 5 || line.begin >= line.end) return std::nullopt;
    line.rights = rights;
    line.rest = text.substr(static_cast<std::size_t>(rest));
    line.is_of_file = inode != 0;
    return line;
  }
  MapLine part(std::uint64_t from, std::uint64_t to) const {
    MapLine line = *this;
    line.begin = from;
    line.end = to;
    if (is_of_file) line.offset += from - begin;
    return line;
  }
  bool continues(const MapLine& before) const {
    return before.is_changing && is_changing && before.end == begin && before.rights == rights &&
           before.rest == rest && (!is_of_file || before.offset + (before.end - before.begin) == offset);
  }
  std::string text() const {
    return fmt::format("{:08x}-{:08x} {} {:08x} {}\n", begin, end, rights, offset, rest);
  }
};

void set_rights(MapLine& line, std::uint32_t rights) {
  line.rights[0] = (rights & PROT_READ) != 0 ? 'r' : '-';
  line.rights[1] = (rights & PROT_WRITE) != 0 ? 'w' : '-';
  line.rights[2] = (rights & PROT_EXEC) != 0 ? 'x' : '-';
  line.is_changing = true;
}

}  // namespace

std::vector<ChangingRange> changing_ranges_of(Process& process) {
  const std::uint64_t table = process.region().header().changing_code;
  if (table == 0) return {};
  const auto count = process.memory().load<std::uint32_t>(table);
  if (!count || *count > protocol::kMostChangingRanges) return {};
  std::vector<ChangingRange> ranges(*count);
  if (!process.memory().read(table + offsetof(protocol::ChangingCode, ranges),
                             std::as_writable_bytes(std::span(ranges))))
    return {};
  std::uint64_t end = 0;
  for (const ChangingRange& range : ranges) {
    if (range.start < end || range.end <= range.start) return {};
    end = range.end;
  }
  return ranges;
}

std::string with_rights_of_program(const std::string& maps, std::span<const ChangingRange> ranges) {
  if (ranges.empty()) return maps;
  std::vector<MapLine> lines;
  const auto add = [&lines](MapLine line) {
    if (!lines.empty() && line.continues(lines.back())) {
      lines.back().end = line.end;
    } else {
      lines.push_back(std::move(line));
    }
  };
  std::istringstream native(maps);
  for (std::string text; std::getline(native, text);) {
    const std::optional<MapLine> line = MapLine::of(text);
    if (!line) continue;
    std::uint64_t at = line->begin;
    const auto first = std::ranges::upper_bound(ranges, at, {}, &ChangingRange::end);
    for (auto range = first; range != ranges.end() && range->start < line->end; ++range) {
      if (range->start > at) add(line->part(at, range->start));
      const std::uint64_t from = std::max(at, range->start);
      at = std::min(line->end, range->end);
      MapLine part = line->part(from, at);
      set_rights(part, range->rights);
      add(std::move(part));
    }
    if (at < line->end) add(line->part(at, line->end));
  }
  std::string text;
  for (const MapLine& line : lines) text += line.text();
  return text;
}

}  // namespace verbatim::supervisor
