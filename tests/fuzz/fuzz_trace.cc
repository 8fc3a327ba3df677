// Text traces: lines that are records, and for some inputs the output of commands that show them. After a
// line "====" lines of facts.txt follow, and after another one a run.json.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/show_run.h"
#include "tools/verbatim/run_json.h"

namespace {

using namespace verbatim;

std::string_view take_part(std::string_view& rest) {
  constexpr std::string_view kBetween = "\n====\n";
  const std::size_t end = rest.find(kBetween);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == rest.npos ? rest.size() : end + kBetween.size());
  return part;
}

std::vector<observe::TraceLine> lines_of(std::string_view text) {
  std::vector<observe::TraceLine> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (auto line = observe::parse_trace_line(text.substr(0, end))) lines.push_back(std::move(*line));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  std::string_view rest = input;
  cli::RecordedRun run;
  run.lines = lines_of(take_part(rest));
  std::ranges::stable_sort(run.lines, {}, &observe::TraceLine::time_ps);
  run.facts = lines_of(take_part(rest));
  if (!rest.empty()) {
    std::string failure;
    auto report = cli::parse_run_json(rest, "run.json", &failure);
    CHECK(report.has_value() == failure.empty());
    if (report) run.report = std::move(*report);
  }
  if (fuzz::is_shown(input)) fuzz::show_run(run);
  return 0;
}
