#include "tests/equality/both_modes.h"

#include <algorithm>
#include <filesystem>

namespace verbatim::equality {

using support::RunReport;

namespace {

// `count` lines of the text, from `before` lines above offset `at` on.
std::string lines_at(const std::string& text, std::size_t at, int before, int count) {
  std::size_t from = std::min(at, text.size());
  for (int i = 0; i <= before && from > 0; ++i) {
    const std::size_t newline = text.rfind('\n', from - 1);
    from = newline == std::string::npos ? 0 : newline;
  }
  if (from > 0) ++from;
  std::size_t to = from;
  for (int i = 0; i < count && to < text.size(); ++i) to = std::min(text.find('\n', to), text.size() - 1) + 1;
  return text.substr(from, to - from) + (to >= text.size() ? "(the end)\n" : "");
}

}  // namespace

std::string first_difference(const std::string& slices, const std::string& call_by_call) {
  const auto mismatch = std::mismatch(slices.begin(), slices.end(), call_by_call.begin(), call_by_call.end());
  if (mismatch.first == slices.end() && mismatch.second == call_by_call.end()) return "";
  const auto at = static_cast<std::size_t>(mismatch.first - slices.begin());
  return "in slices:\n" + lines_at(slices, at, 2, 6) + "call by call:\n" + lines_at(call_by_call, at, 2, 6);
}

BothModes run_both(support::RunRequest request) {
  request.trace = true;
  BothModes runs{support::run(request), {}};
  request.options.push_back("--call-by-call");
  runs.call_by_call = support::run(request);
  return runs;
}

BothModes run_both(const std::string& scenario) {
  return run_both(support::RunRequest{.scenario = scenario});
}

std::vector<std::string> shipped_scenarios() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(VERBATIM_SOURCE_DIR "/scenarios")) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string path_of_scenario(const std::string& name) {
  return VERBATIM_SOURCE_DIR "/scenarios/" + name + ".json";
}

bool is_as_exact_as_the_machine_allows(const RunReport& run) {
  if (run.report["determinism"] == "exact") return true;
  const auto& reasons = run.report["weak"];
  return !reasons.empty() && std::all_of(reasons.begin(), reasons.end(), [](const auto& reason) {
    return reason.template get<std::string>().ends_with("that read the machine's clock, and this machine cannot trap such instructions");
  });
}

void expect_equal(const BothModes& runs) {
  const RunReport& slices = runs.slices;
  const RunReport& oracle = runs.call_by_call;
  SCOPED_TRACE("in slices: " + slices.command + "\ncall by call: " + oracle.command);
  EXPECT_EQ(slices.code, 0) << slices.story();
  EXPECT_EQ(oracle.code, 0) << oracle.story();
  EXPECT_FALSE(slices.trace.empty());
  EXPECT_EQ(first_difference(slices.trace, oracle.trace), "") << "the traces differ";
  EXPECT_EQ(slices.outputs.size(), oracle.outputs.size());
  for (const auto& [name, bytes] : oracle.outputs) {
    const auto it = slices.outputs.find(name);
    ASSERT_NE(it, slices.outputs.end()) << name;
    // The order in which choices are drawn, and how far ahead, depends on the mode.
    if (name == "run.replay") continue;
    EXPECT_EQ(first_difference(it->second, bytes), "") << name << " differs";
  }
  ASSERT_TRUE(slices.report.is_object() && oracle.report.is_object());
  EXPECT_EQ(slices.digest().size(), 32u);
  EXPECT_TRUE(is_as_exact_as_the_machine_allows(slices)) << slices.report["warnings"];
  for (const char* figure : {"digest", "virtual_time_ps", "packets", "packet_hops", "outcome", "determinism",
                             "programs", "findings", "warnings", "queues"}) {
    EXPECT_EQ(slices.report[figure], oracle.report[figure]) << figure;
  }
  // The reference run must have more hand-overs; otherwise it has used slices, too.
  EXPECT_GE(oracle.report["hand_overs"], slices.report["hand_overs"]);
}

}  // namespace verbatim::equality
