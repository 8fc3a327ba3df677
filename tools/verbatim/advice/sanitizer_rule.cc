// Reports of sanitizers that are built into programs.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/words.h"
#include "tools/verbatim/advice/rules.h"

namespace verbatim::cli::rules {

namespace {

constexpr std::string_view kSanitizer = "Sanitizer: ";

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

std::string_view without_blanks(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin == line.npos) return "";
  line.remove_prefix(begin);
  while (line.ends_with(' ') || line.ends_with(':') || line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_frame(std::string_view line) { return line.starts_with("#"); }

// "main at app.c:42" for "#0 0x5555 in main /src/app.c:42 (app+0x3d)"; empty for functions of the sanitizer and
// of libraries without source locations.
std::string place_in(std::string_view frame) {
  std::string_view text = frame.substr(std::min(frame.find(' '), frame.size()));
  if (const std::size_t in = text.find(" in "); in != text.npos) text.remove_prefix(in + 3);
  text = without_blanks(text.substr(0, text.find(" (")));
  const std::size_t path = text.rfind(' ');
  if (path == text.npos || text.find("sanitizer") != text.npos || text.find("interceptor") != text.npos) return "";
  const std::string_view file = text.substr(path + 1);
  const std::size_t number = file.find(':');
  if (number == file.npos || file.starts_with("..")) return "";
  const std::size_t slash = file.rfind('/');
  return join(text.substr(0, path), " at ", slash == file.npos ? file : file.substr(slash + 1));
}

// The accesses and allocations of the report, each with its place in the program: "Previous write of size 1 … by
// thread T1, send at app.c:9".
std::vector<std::string> accesses_in(const std::vector<std::string_view>& lines) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> accesses;
  std::string_view head;
  for (const std::string_view raw : lines) {
    const std::string_view line = without_blanks(raw);
    if (!is_frame(line)) {
      // Warnings of the sanitizer may be in between.
      if (raw.ends_with(':') || line.find(" thread ") != line.npos) head = line;
    } else if (const std::string place = place_in(line); !head.empty() && !place.empty() && accesses.size() < kMost) {
      accesses.push_back(join(head, ", ", place));
      head = "";
    }
  }
  return accesses;
}

std::string_view remedy_of(std::string_view kind) {
  if (kind.find("data race") != kind.npos) {
    return "order the two accesses: by a lock, by pthread_join, by an atomic operation with release and acquire, or by polling the completion of a "
           "request between them; a relaxed atomic operation and a sleep order nothing";
  }
  if (kind.find("use-after") != kind.npos || kind.find("double-free") != kind.npos) {
    return "let the object live until its last use; memory of a work request is used until its completion has been polled";
  }
  if (kind.find("overflow") != kind.npos || kind.find("out-of-bounds") != kind.npos)
    return "keep the access within the object, or make the object larger";
  return "the report is in the program's standard error: correct the place that it names";
}

}  // namespace

Found sanitizer_reports(const Evidence& evidence) {
  const RunReport::Program* const failed = evidence.report().first_failed();
  if (failed == nullptr || failed->sanitizer_report.empty()) return std::nullopt;
  const std::vector<std::string_view> lines = lines_of(failed->sanitizer_report);
  const std::string_view first = lines.front();
  const std::size_t name = first.find(kSanitizer);
  if (name == first.npos) return std::nullopt;
  const std::size_t begin = first.rfind(' ', name);
  std::string_view kind = first.substr(name + kSanitizer.size());
  kind = kind.substr(0, std::min(kind.find(" ("), kind.find(" on ")));
  std::string places;
  for (const std::string& access : accesses_in(lines)) places += (places.empty() ? ": " : "; ") + access;
  const std::string sanitizer(first.substr(begin == first.npos ? 0 : begin + 1,
                                           name + kSanitizer.size() - 2 - (begin == first.npos ? 0 : begin + 1)));
  // Other programs go on after a report.
  const bool ends_program =
      failed->last_words.find("Sanitizer") != std::string::npos || failed->last_words.ends_with("ABORTING");
  return Advice{
      join(sanitizer, ", which is built into the program of ", evidence.end().host, ", reports ", kind, places),
      std::string(remedy_of(kind)), ends_program};
}

}  // namespace verbatim::cli::rules
