// `verbatim ladder RUN`: shows a trace of `run --trace` or `run --keep-trace` as a ladder of hosts.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "sim/config/quantity.h"
#include "sim/observe/ladder.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/recorded_run.h"
#include "tools/verbatim/output_file.h"

namespace verbatim::cli {

namespace {

std::size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) return size.ws_col;
  return observe::LadderOptions().width;
}

// Whether the caller's terminal shows UTF-8.
bool has_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view text(value);
    return text.find("UTF-8") != text.npos || text.find("utf8") != text.npos;
  }
  return false;
}

// "100.5ms..100.6ms"; either side may be omitted. Returns false, with a finding, if the text is invalid.
bool parse_between(const std::string& text, observe::LadderOptions& options, config::Diagnostics& diagnostics) {
  if (text.empty()) return true;
  const std::size_t dots = text.find("..");
  std::string problem = "does not have the form FROM..TO", hint = "write it like \"100.5ms..100.6ms\"";
  const auto time = [&](const std::string& part, std::int64_t otherwise) -> std::optional<std::int64_t> {
    if (part.empty()) return otherwise;
    return config::parse_quantity(part, config::Dimension::kDuration, &problem, &hint);
  };
  const auto from = dots == text.npos ? std::nullopt : time(text.substr(0, dots), options.from_ps);
  const auto to = from ? time(text.substr(dots + 2), options.to_ps) : std::nullopt;
  if (from && to && *from <= *to) {
    options.from_ps = *from;
    options.to_ps = *to;
    return true;
  }
  if (from && to) problem = "ends before it begins";
  diagnostics.add("--between", "", config::in_quotes(text) + " " + problem, hint);
  return false;
}

// Index of the last permanent failure: a completion with an error, or a program that did not exit with 0.
std::optional<std::size_t> last_failure(const std::vector<observe::TraceLine>& lines) {
  for (std::size_t i = lines.size(); i-- > 0;) {
    const observe::TraceLine& line = lines[i];
    if (line.event == "completion" && line.value("status") != "0") return i;
    if (line.event == "program-exited" && (line.value("exit_code") != "0" || line.value("signal") != "0")) return i;
  }
  return std::nullopt;
}

// Rows of the ladder as JSON.
Answer::Json rows_json(const std::vector<observe::TraceLine>& lines, const observe::LadderOptions& options) {
  const observe::LadderRows shown = observe::ladder_rows(lines, options);
  auto rows = Answer::Json::array();
  for (const observe::LadderRow& row : shown.rows) {
    const observe::TraceLine& line = lines[row.index];
    auto values = Answer::Json::object();
    std::istringstream words(line.values);
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      if (equals != word.npos) values[word.substr(0, equals)] = word.substr(equals + 1);
    }
    rows.push_back({{"time_ps", line.time_ps},
                    {"host", shown.hosts[row.column]},
                    {"component", line.component},
                    {"event", line.event},
                    {"values", values},
                    {"marked", std::ranges::find(options.marked, row.index) != options.marked.end()}});
  }
  return {{"hosts", shown.hosts}, {"rows", rows}};
}

}  // namespace

int ladder(const LadderVerbOptions& asked) {
  observe::LadderOptions options;
  config::Diagnostics diagnostics;
  if (!parse_between(asked.between, options, diagnostics)) {
    print(diagnostics);
    return kUsage;
  }
  protect_input(asked.file);
  if (!can_write(asked.out)) return kUsage;
  std::string failure_to_read;
  const auto run = read_run(asked.file, &failure_to_read);
  if (!run) {
    complain(failure_to_read);
    return kUsage;
  }
  const std::vector<observe::TraceLine>* const lines = &run->lines;
  if (lines->empty()) {
    complain(asked.file + " has no trace; `verbatim run --record FILE`, or `verbatim run --out FOLDER --keep-trace`, writes one");
    return kUsage;
  }
  options.queue_pairs = asked.queue_pairs;
  options.shows_system_calls = asked.system_calls;
  options.width = asked.width != 0 ? asked.width : terminal_width();
  options.unicode = !asked.ascii && has_unicode();
  if (asked.last_failure) {
    const auto failure = last_failure(*lines);
    if (!failure) {
      complain("nothing failed in " + asked.file + ": every completion has status IBV_WC_SUCCESS, and every program ended with exit code 0");
      return kProgramFailed;
    }
    constexpr std::int64_t kBefore = 20'000'000, kAfter = 5'000'000;  // ps
    options.from_ps = std::max(options.from_ps, (*lines)[*failure].time_ps - kBefore);
    options.to_ps = std::min(options.to_ps, (*lines)[*failure].time_ps + kAfter);
    options.marked = {*failure};
  }
  Answer answer("ladder", asked.style);
  if (!asked.out.empty()) {
    const std::string failure = write_document(asked.out, observe::ladder_svg(*lines, options));
    if (!failure.empty()) complain(failure);
    answer.document()["file"] = asked.out;
    return failure.empty() ? answer.end(kAsExpected) : kProgramFailed;
  }
  if (answer.is_for_people()) std::fputs(observe::ladder_text(*lines, options).c_str(), stdout);
  if (asked.style.json) answer.document() = rows_json(*lines, options);
  return answer.end(kAsExpected);
}

}  // namespace verbatim::cli
