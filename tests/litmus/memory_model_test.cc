// The table of memory_model/table.h: forbidden outcomes never occur with any seed; the sweep requires all
// allowed ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "tests/litmus/memory_model/table.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::litmus {

void PrintTo(const MemoryCase& which, std::ostream* out) { *out << which.name; }

namespace {

#ifdef MEMORY_MODEL_SWEEP
constexpr int kSeeds = 334, kIterations = 300;
#else
constexpr int kSeeds = 1, kIterations = 100;
#endif

class MemoryModel : public ::testing::TestWithParam<MemoryCase> {};

// Every other run lets threads be late between accesses to memory, too, and stores wait in the processor's store buffer.
bool has_accesses(int seed) { return seed % 2 == 0; }

// Number of occurrences of each outcome.
using Outcomes = std::map<std::string, int>;

void add_outcomes(const MemoryCase& which, const std::string& freedom, int seed, Outcomes& outcomes) {
  support::RunRequest request;
  const std::string program = support::quoted(std::string(LITMUS_FOLDER) + "/memory_model") + " " + which.name + " " +
                              std::to_string(kIterations);
  request.commands = {"server=" + program, "client=" + program + " server"};
  request.options = {"--freedom", freedom, "--seed", std::to_string(seed), "--check", "all=off", "--time-limit", "100s"};
  if (freedom == "spec" && has_accesses(seed)) request.options.emplace_back("--spec-accesses");
  const support::RunReport result = support::run(request);
  ASSERT_EQ(result.code, 0) << result.story();
  std::istringstream lines(result.out);
  int all = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find("client| "), colon = line.rfind(": ");
    if (begin != 0 || colon == line.npos) continue;
    const int count = std::stoi(line.substr(colon + 2));
    outcomes[line.substr(8, colon - 8)] += count;
    all += count;
  }
  ASSERT_EQ(all, kIterations) << result.out;
}

TEST_P(MemoryModel, what_is_forbidden_never_comes) {
  const MemoryCase& which = GetParam();
  // Not the same seed for all.
  const auto index = std::ranges::find(memory_cases(), which.name, &MemoryCase::name) - memory_cases().begin();
  const int first = 1 + static_cast<int>(index) % 7;
  Outcomes outcomes;
  for (int seed = first; seed < first + kSeeds; ++seed) {
    add_outcomes(which, "spec", seed, outcomes);
    if (HasFatalFailure()) return;
  }
#ifdef MEMORY_MODEL_SWEEP
  add_outcomes(which, "friendly", 1, outcomes);
#endif
  std::string counted;
  for (const auto& [outcome, count] : outcomes) {
    counted += "  " + outcome + ": " + std::to_string(count) + "\n";
    const bool is_allowed = std::ranges::count(which.allowed, outcome) + std::ranges::count(which.not_shown, outcome) != 0;
    EXPECT_TRUE(is_allowed)
        << which.question << ": " << outcome << " came " << count << " times";
  }
  std::printf("%s (%s)\n%s", which.name.c_str(), which.question.c_str(), counted.c_str());
#ifdef MEMORY_MODEL_SWEEP
  for (const std::string& outcome : which.allowed) EXPECT_TRUE(outcomes.contains(outcome)) << outcome << " never came";
#endif
}

INSTANTIATE_TEST_SUITE_P(Cases, MemoryModel, ::testing::ValuesIn(memory_cases()), [](const auto& info) {
  std::string name = info.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace verbatim::litmus
