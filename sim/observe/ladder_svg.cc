#include <algorithm>
#include <map>
#include <tuple>

#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "sim/ib/drop_reason.h"
#include "sim/observe/ladder.h"

namespace verbatim::observe {

namespace {

// Pixels. Words of the first host stand to the left of its line, those of the others to the right.
constexpr std::size_t kTime = 110, kFirst = 520, kColumn = 320, kLast = 560, kRow = 18, kTop = 34;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (static_cast<unsigned char>(c) >= ' ') out += c;
  }
  return out;
}

std::string text_at(std::size_t x, std::size_t y, std::string_view anchor, std::string_view kind, std::string_view words) {
  return join("<text x=\"", x, "\" y=\"", y, "\" text-anchor=\"", anchor, "\" class=\"", kind, "\">", escaped(words), "</text>\n");
}

std::string line_between(std::size_t x1, std::size_t y1, std::size_t x2, std::size_t y2, std::string_view kind) {
  return join("<line x1=\"", x1, "\" y1=\"", y1, "\" x2=\"", x2, "\" y2=\"", y2, "\" class=\"", kind, "\"/>\n");
}

// A packet between its two ends: opcode, destination, PSN.
std::tuple<std::string, std::string, std::string> key_of(const TraceLine& line) {
  return {std::string(line.value("opcode")), std::string(line.value("dest_qp")), std::string(line.value("psn"))};
}

constexpr std::string_view kStyle =
    "<style>text{font:11px monospace;fill:#1b1f24}.time{fill:#57606a}.head{font-weight:bold;font-size:13px}.rail{stroke:#d0d7de}"
    ".packet{stroke:#0550ae;marker-end:url(#head)}.lost{stroke:#b3261e;stroke-dasharray:4 3}.bad{fill:#b3261e;font-weight:bold}"
    "@media(prefers-color-scheme:dark){svg{background:#0d1117}text{fill:#e6edf3}.time{fill:#9aa4af}.rail{stroke:#30363d}"
    ".packet{stroke:#79c0ff}.lost{stroke:#ff8a80}.bad{fill:#ff8a80}}</style>\n"
    "<defs><marker id=\"head\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"4\" orient=\"auto\">"
    "<path d=\"M0 0L8 4L0 8Z\" fill=\"#0550ae\"/></marker></defs>\n";

}  // namespace

std::string ladder_svg(std::span<const TraceLine> lines, const LadderOptions& options) {
  const auto [hosts, all] = ladder_rows(lines, options);
  if (hosts.empty()) return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1\" height=\"1\"></svg>\n";
  const std::size_t shown = std::min(all.size(), kMostLadderRows);
  const auto middle = [](std::size_t column) { return kFirst + column * kColumn; };
  const auto height_of = [](std::size_t row) { return kTop + row * kRow + kRow / 2; };
  const std::size_t width = kFirst + hosts.size() * kColumn - kColumn + kLast, height = kTop + (shown + 1) * kRow;
  std::string svg = join("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width, "\" height=\"", height, "\" viewBox=\"0 0 ", width, " ", height,
                         "\">\n<title>Verbatim ladder</title>\n", kStyle);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    svg += text_at(middle(i), 16, "middle", "head", hosts[i]);
    svg += line_between(middle(i), kTop - 10, middle(i), height - kRow, "rail");
  }
  // Packets that are under way: the row and column of each.
  std::map<std::tuple<std::string, std::string, std::string>, std::pair<std::size_t, std::size_t>> under_way;
  for (std::size_t row = 0; row < shown; ++row) {
    const TraceLine& line = lines[all[row].index];
    const std::size_t column = all[row].column, y = height_of(row), x = middle(column);
    svg += text_at(kTime, y + 4, "end", "time", microseconds_text(line.time_ps));
    if (line.event == "packet-transmitted") {
      const bool points_right = column + 1 < hosts.size();
      const std::string words = join(line.value("opcode"), " to QP ", line.value("dest_qp"), " PSN ", line.value("psn"));
      svg += text_at(points_right ? x + 8 : x - 8, y - 1, points_right ? "start" : "end", "what", words);
      under_way[key_of(line)] = {row, column};
      continue;
    }
    if (line.event == "packet-received") {
      const auto sent = under_way.find(key_of(line));
      if (sent == under_way.end()) continue;
      svg += line_between(middle(sent->second.second), height_of(sent->second.first), x, y, "packet");
      under_way.erase(sent);
      continue;
    }
    const bool is_bad = (line.event == "completion" && line.value("status") != "0") || line.event == "packet-dropped" || line.event == "retransmission" ||
                        line.event == "diagnosis";
    std::string words = in_words(line);
    if (line.event == "packet-dropped") {
      std::uint64_t reason = 0;
      for (const char c : line.value("reason")) reason = 10 * reason + static_cast<std::uint64_t>(c - '0');
      words = join("\u2715 ", line.value("opcode"), " PSN ", line.value("psn"), ": ", ib::text_of(static_cast<ib::DropReason>(reason)));
    }
    svg += text_at(column == 0 ? x - 6 : x + 6, y + 4, column == 0 ? "end" : "start", is_bad ? "bad" : "what", words);
  }
  for (const auto& [key, from] : under_way) {
    const std::size_t x = middle(from.second), y = height_of(from.first);
    svg += line_between(x, y, from.second + 1 < hosts.size() ? x + 60 : x - 60, y + 6, "lost");
  }
  if (shown < all.size()) svg += text_at(kTime, height - 4, "start", "time", join(all.size() - shown, " more rows"));
  return svg + "</svg>\n";
}

}  // namespace verbatim::observe
