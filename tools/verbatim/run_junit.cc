#include "tools/verbatim/run_junit.h"

#include <algorithm>
#include <vector>

#include "sim/config/words.h"
#include "tools/verbatim/junit.h"

namespace verbatim::cli {

namespace {

void append_line(std::string& text, const std::string& line) { text += (text.empty() ? "" : "\n") + line; }

}  // namespace

std::string junit_of_run(const RunPlan& plan, const Verdict& verdict) {
  std::vector<JunitCase> cases;
  std::vector<std::string> of_programs;
  for (std::size_t i = 0; i < plan.scenario.programs.size(); ++i) {
    const config::ProgramSpec& spec = plan.scenario.programs[i];
    JunitCase& one = cases.emplace_back();
    one.name = spec.host + ": " + config::join_words(spec.command);
    const auto found = verdict.of_programs.find(i);
    if (found == verdict.of_programs.end()) continue;
    for (const std::string& sentence : found->second) append_line(one.failure, sentence);
    of_programs.insert(of_programs.end(), found->second.begin(), found->second.end());
  }
  JunitCase& whole = cases.emplace_back();
  whole.name = "the run ends as the scenario expects";
  for (const std::string& sentence : verdict.sentences) {
    if (std::ranges::find(of_programs, sentence) == of_programs.end()) append_line(whole.failure, sentence);
  }
  return junit_text(plan.scenario.name.empty() ? "verbatim run" : plan.scenario.name, cases);
}

}  // namespace verbatim::cli
