#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "sim/ib/drop_reason.h"
#include "sim/observe/ladder.h"

namespace verbatim::observe {

namespace {

// Pixels. Text of the first host is to the left of its line, that of the others to the right. The picture is
// as wide as the longest texts need. A character of a monospaced font of 11 pixels is 6.6 wide, a bold one of
// 13 pixels 7.9.
constexpr std::size_t kTime = 110, kColumn = 320, kMargin = 12, kRow = 18, kTop = 34;
constexpr double kCharacter = 6.7, kHeadCharacter = 8;

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

// Upper bound of the width; the number of bytes is at least that of characters.
std::size_t pixels_of(std::string_view words, double character) {
  return static_cast<std::size_t>(static_cast<double>(words.size()) * character) + 1;
}

std::string text_at(std::size_t x, std::size_t y, std::string_view anchor, std::string_view kind, std::string_view words) {
  return join("<text x=\"", x, "\" y=\"", y, "\" text-anchor=\"", anchor, "\" class=\"", kind, "\">", escaped(words), "</text>\n");
}

std::string line_between(std::size_t x1, std::size_t y1, std::size_t x2, std::size_t y2, std::string_view kind) {
  return join("<line x1=\"", x1, "\" y1=\"", y1, "\" x2=\"", x2, "\" y2=\"", y2, "\" class=\"", kind, "\"/>\n");
}

// Identifies a packet at both ends: opcode, destination, PSN.
std::tuple<std::string, std::string, std::string> key_of(const TraceLine& line) {
  return {std::string(line.value("opcode")), std::string(line.value("dest_qp")), std::string(line.value("psn"))};
}

// Text of a row beside its host's line.
struct Words {
  std::string text;
  bool is_left = false;  // of the host's line
  bool is_bad = false;
  std::size_t gap = 6, lift = 0;  // distance from the line, and upwards from the middle of the row
};

// nullopt for a packet that arrives, because its arrow shows it.
std::optional<Words> words_of(const TraceLine& line, std::size_t column, std::size_t hosts) {
  if (line.event == "packet-received") return std::nullopt;
  if (line.event == "packet-transmitted") {
    const bool points_right = column + 1 < hosts;
    return Words{join(line.value("opcode"), " to QP ", line.value("dest_qp"), " PSN ", line.value("psn")), !points_right, false, 8, 5};
  }
  const bool is_bad = (line.event == "completion" && line.value("status") != "0") || line.event == "packet-dropped" || line.event == "retransmission" ||
                      line.event == "diagnosis";
  std::string text = in_words(line);
  if (line.event == "program-started") {
    text = join("process ", line.value("pid"), " starts");
  } else if (line.event == "program-exited") {
    const bool is_killed = line.value("signal") != "0";
    text = join("process ", line.value("pid"), is_killed ? " is killed by signal " : " ends with exit code ", line.value(is_killed ? "signal" : "exit_code"));
  } else if (line.event == "fault") {
    text = join("scripted fault ", line.value("rule"), " hits ", line.value("opcode"), " PSN ", line.value("psn"));
  } else if (line.event == "packet-dropped") {
    const auto reason = static_cast<ib::DropReason>(number_of(line, "reason"));
    text = join("\u2715 ", line.value("opcode"), " PSN ", line.value("psn"), ": ", ib::text_of(reason));
  }
  return Words{std::move(text), column == 0, is_bad};
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
  std::vector<std::optional<Words>> words(shown);
  // Space to the left of the first line and to the right of it.
  std::size_t left = pixels_of(hosts.front(), kHeadCharacter) / 2, right = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i) right = std::max(right, i * kColumn + pixels_of(hosts[i], kHeadCharacter) / 2);
  for (std::size_t row = 0; row < shown; ++row) {
    const std::size_t column = all[row].column;
    words[row] = words_of(lines[all[row].index], column, hosts.size());
    if (!words[row]) continue;
    const std::size_t reach = words[row]->gap + pixels_of(words[row]->text, kCharacter);
    if (!words[row]->is_left) right = std::max(right, column * kColumn + reach);
    else if (reach > column * kColumn) left = std::max(left, reach - column * kColumn);
  }
  const std::size_t first = kTime + kMargin + left;
  const auto middle = [first](std::size_t column) { return first + column * kColumn; };
  const auto height_of = [](std::size_t row) { return kTop + row * kRow + kRow / 2; };
  const std::size_t width = first + right + kMargin, height = kTop + (shown + 1) * kRow;
  std::string svg = join("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width, "\" height=\"", height, "\" viewBox=\"0 0 ", width, " ", height,
                         "\">\n<title>Verbatim ladder</title>\n", kStyle);
  svg += text_at(kTime, 16, "end", "time", "time in us");
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    svg += text_at(middle(i), 16, "middle", "head", hosts[i]);
    svg += line_between(middle(i), kTop - 10, middle(i), height - kRow, "rail");
  }
  // Row and column of each packet in flight.
  std::map<std::tuple<std::string, std::string, std::string>, std::pair<std::size_t, std::size_t>> under_way;
  for (std::size_t row = 0; row < shown; ++row) {
    const TraceLine& line = lines[all[row].index];
    const std::size_t column = all[row].column, y = height_of(row), x = middle(column);
    svg += text_at(kTime, y + 4, "end", "time", microseconds_text(line.time_ps));
    if (words[row]) {
      const Words& own = *words[row];
      svg += text_at(own.is_left ? x - own.gap : x + own.gap, y + 4 - own.lift, own.is_left ? "end" : "start", own.is_bad ? "bad" : "what", own.text);
    }
    if (line.event == "packet-transmitted") {
      under_way[key_of(line)] = {row, column};
    } else if (line.event == "packet-received") {
      const auto sent = under_way.find(key_of(line));
      if (sent == under_way.end()) continue;
      svg += line_between(middle(sent->second.second), height_of(sent->second.first), x, y, "packet");
      under_way.erase(sent);
    }
  }
  for (const auto& [key, from] : under_way) {
    const std::size_t x = middle(from.second), y = height_of(from.first);
    svg += line_between(x, y, from.second + 1 < hosts.size() ? x + 60 : x - 60, y + 6, "lost");
  }
  if (shown < all.size()) svg += text_at(kMargin, height - 4, "start", "time", join(all.size() - shown, " more rows are not drawn"));
  return svg + "</svg>\n";
}

}  // namespace verbatim::observe
