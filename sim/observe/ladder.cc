#include "sim/observe/ladder.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "sim/core/time_text.h"

namespace verbatim::observe {

namespace {

// "server" for "hca/server", "port/server:1" and "host/server"; empty for components of no host.
std::string host_of(const TraceLine& line) {
  const std::size_t slash = line.component.find('/');
  if (slash == std::string::npos || line.component.starts_with("switch/")) return "";
  std::string host = line.component.substr(slash + 1);
  if (line.component.starts_with("port/")) host = host.substr(0, host.rfind(':'));
  return host.substr(0, host.find('/'));
}

bool is_shown(const TraceLine& line, const LadderOptions& options) {
  static constexpr std::string_view kHidden[] = {"packet-forwarded", "credits-returned", "ack-sent",          "ack-received",
                                                 "wqe-fetched",      "socket-data",      "payload-gathered"};
  if (std::ranges::find(kHidden, line.event) != std::end(kHidden)) return false;
  return line.event != "system-call" || options.shows_system_calls;
}

bool is_about(const TraceLine& line, const std::vector<std::uint64_t>& queue_pairs) {
  if (queue_pairs.empty()) return true;
  for (const char* name : {"qpn", "dest_qp", "number"}) {
    const std::string_view text = line.value(name);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() &&
        std::ranges::find(queue_pairs, number) != queue_pairs.end())
      return true;
  }
  return false;
}

// Number of characters on a terminal, for text in UTF-8.
std::size_t width_of(std::string_view text) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  return static_cast<std::size_t>(std::ranges::count_if(text, begins));
}

std::string cut(std::string text, std::size_t width) {
  if (width_of(text) <= width) return text;
  std::size_t end = 0;
  for (std::size_t shown = 0; end < text.size(); ++end) {
    if ((static_cast<unsigned char>(text[end]) & 0xc0) != 0x80 && ++shown > width - 1) break;
  }
  return text.substr(0, end) + "~";
}

std::string cell_text(const TraceLine& line, bool points_right, bool unicode) {
  if (line.event == "packet-transmitted" || line.event == "packet-received") {
    std::string text(line.value("opcode"));
    text += " to QP " + std::string(line.value("dest_qp")) + " PSN " + std::string(line.value("psn"));
    const bool leaves = line.event == "packet-transmitted";
    // Packets that leave point to the other columns, packets that arrive point to their own.
    const std::string right = unicode ? "──▶" : "-->", left = unicode ? "◀──" : "<--";
    if (points_right) return text + " " + (leaves ? right : left);
    return (leaves ? left : right) + " " + text;
  }
  return in_words(line);
}

}  // namespace

LadderRows ladder_rows(std::span<const TraceLine> lines, const LadderOptions& options) {
  std::vector<std::pair<std::size_t, std::string>> found;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const TraceLine& line = lines[i];
    if (line.time_ps < options.from_ps || line.time_ps > options.to_ps || !is_shown(line, options)) continue;
    if (!is_about(line, options.queue_pairs)) continue;
    std::string host = host_of(line);
    if (host.empty()) continue;
    if (line.component.starts_with("port/") && !line.event.starts_with("packet-") && line.event != "link-state" &&
        line.event != "fault")
      continue;
    found.emplace_back(i, std::move(host));
  }
  std::set<std::string> hosts;
  for (const auto& [index, host] : found) hosts.insert(host);
  // Switches have port components as well, so only hosts with an adapter or programs get a column.
  LadderRows result;
  for (const TraceLine& line : lines) {
    if (!line.component.starts_with("hca/") && !line.component.starts_with("host/")) continue;
    const std::string host = host_of(line);
    if (hosts.contains(host) && std::ranges::find(result.hosts, host) == result.hosts.end()) result.hosts.push_back(host);
  }
  std::ranges::sort(result.hosts);
  for (const auto& [index, host] : found) {
    const auto at = std::ranges::find(result.hosts, host);
    if (at != result.hosts.end()) result.rows.push_back({index, static_cast<std::size_t>(at - result.hosts.begin())});
  }
  return result;
}

std::string ladder_text(std::span<const TraceLine> lines, const LadderOptions& options) {
  const auto [real, rows] = ladder_rows(lines, options);
  if (real.empty()) return "";
  constexpr std::size_t kTimeWidth = 20;
  const std::string bar = options.unicode ? "│" : "|";
  const std::size_t width = std::max<std::size_t>(options.width, 60);
  const std::size_t column = std::max<std::size_t>((width - kTimeWidth) / real.size() - 3, 12);
  const auto padded = [](std::string text, std::size_t to) {
    const std::size_t shown = width_of(text);
    return shown < to ? text + std::string(to - shown, ' ') : text;
  };
  const auto without_trailing_blanks = [](std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string head = padded("  time in us", kTimeWidth);
  for (const std::string& host : real) head += bar + " " + padded(cut(host, column), column + 1);
  std::string text = without_trailing_blanks(head);
  std::string last_body;
  std::size_t repeated = 0;
  const auto end_repetition = [&] {
    if (repeated != 0) text += padded("", kTimeWidth) + bar + " (" + std::to_string(repeated) + " more like it)\n";
    repeated = 0;
  };
  for (const LadderRow& row : rows) {
    const TraceLine& line = lines[row.index];
    const std::size_t place = row.column;
    const bool is_marked = std::ranges::find(options.marked, row.index) != options.marked.end();
    std::string body;
    for (std::size_t i = 0; i < real.size(); ++i) {
      const std::string cell = i == place ? cell_text(line, place + 1 < real.size() || real.size() == 1, options.unicode) : "";
      body += bar + " " + padded(cut(cell, column), column + 1);
    }
    if (!is_marked && body == last_body) {
      ++repeated;
      continue;
    }
    end_repetition();
    last_body = body;
    text += without_trailing_blanks(padded((is_marked ? "> " : "  ") + microseconds_text(line.time_ps), kTimeWidth) + body);
  }
  end_repetition();
  return text;
}

}  // namespace verbatim::observe
