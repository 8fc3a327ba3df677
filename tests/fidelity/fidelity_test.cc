// The short form of every target is within its bounds; the tool reports values that are not.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/command.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::fidelity {
namespace {

namespace fs = std::filesystem;

const std::string kPublished = std::string(VERBATIM_SOURCE_DIR) + "/tests/fidelity/published";

cli::Finished fidelity(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), FIDELITY_PROGRAM);
  return cli::run_command(arguments);
}

std::vector<std::string> targets_with_a_file() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kPublished)) names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

class Target : public ::testing::TestWithParam<std::string> {};

TEST_P(Target, short_form_is_within_its_bounds) {
  if (GetParam() == "osu" && cli::run_command({"sh", "-c", "command -v mpicc.openmpi"}).code != 0) GTEST_SKIP() << "Open MPI is not installed";
  const cli::Finished finished = fidelity({"--short", GetParam()});
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  EXPECT_NE(finished.out.find(GetParam() + "."), std::string::npos) << "it has values at all";
}

INSTANTIATE_TEST_SUITE_P(Fidelity, Target, ::testing::ValuesIn(targets_with_a_file()),
                         [](const auto& info) { return info.param; });

// A folder with the published values, one of which is changed.
class AlteredValues {
 public:
  AlteredValues(const std::string& target, const std::string& from, const std::string& to) {
    for (const auto& entry : fs::directory_iterator(kPublished))
      fs::copy(entry.path(), folder_.path() + "/" + entry.path().filename().string());
    const std::string file = folder_.path() + "/" + target + ".json";
    std::string text = support::text_of_file(file);
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) text.replace(at, from.size(), to);
    std::ofstream(file) << text;
  }
  const std::string& path() const { return folder_.path(); }

 private:
  support::TemporaryFolder folder_;
};

TEST(Fidelity, a_value_out_of_its_bound_is_off_and_exits_1) {
  const AlteredValues altered("kalia_pcie", "\"13443\"", "\"13444\"");
  const cli::Finished finished = fidelity({"kalia_pcie", "--published", altered.path()});
  EXPECT_EQ(finished.code, 1) << finished.out << finished.err;
  std::istringstream lines(finished.out);
  int off = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool is_altered = line.rfind("kalia_pcie.dma_read", 0) == 0;
    if (line.ends_with("  off")) ++off;
    EXPECT_EQ(line.ends_with("  off"), is_altered) << line;
  }
  EXPECT_EQ(off, 1);
}

TEST(Fidelity, a_value_that_is_not_measured_is_off) {
  const AlteredValues altered("kalia_pcie", "\"dma_read\"", "\"dma_red\"");
  const cli::Finished finished = fidelity({"kalia_pcie", "--published", altered.path()});
  EXPECT_EQ(finished.code, 1) << finished.out << finished.err;
}

TEST(Fidelity, an_unknown_target_is_told_and_exits_2) {
  const cli::Finished finished = fidelity({"kalia_pci"});
  EXPECT_EQ(finished.code, 2);
  EXPECT_NE(finished.err.find("there is no target \"kalia_pci\""), std::string::npos) << finished.err;
  EXPECT_NE(finished.err.find("kalia_pcie"), std::string::npos) << finished.err;
  EXPECT_EQ(finished.out, "");
}

TEST(Fidelity, a_damaged_file_is_told_and_exits_2) {
  const AlteredValues altered("kalia_pcie", "\"13443\"", "\"many\"");
  const cli::Finished finished = fidelity({"kalia_pcie", "--published", altered.path()});
  EXPECT_EQ(finished.code, 2);
  EXPECT_NE(finished.err.find("\"many\" is not a number"), std::string::npos) << finished.err;
}

// Columns of a line, separated by at least two spaces.
std::vector<std::string> columns_of(const std::string& line) {
  std::vector<std::string> columns;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find("  ", at), line.size());
    columns.push_back(line.substr(at, end - at));
    at = std::min(line.find_first_not_of(' ', end), line.size());
  }
  return columns;
}

TEST(Fidelity, a_line_has_six_columns_and_a_mark_when_its_value_is_from_memory) {
  for (const std::string target : {"kalia_pcie", "breaking_band", "timeouts", "qp_cache"}) {
    std::istringstream lines(fidelity({"--short", target}).out);
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(columns_of(line), (std::vector<std::string>{"target", "published", "simulated", "error %", "bound %", "ok|off"}));
    while (std::getline(lines, line)) {
      const std::vector<std::string> columns = columns_of(line);
      const bool is_remembered = target == "breaking_band" || columns[0].find("queue_pairs_5000") != std::string::npos;
      ASSERT_EQ(columns.size(), is_remembered ? 7u : 6u) << line;
      EXPECT_EQ(columns[0].find(target + "."), 0u) << line;
      for (int i = 1; i <= 3; ++i) EXPECT_EQ(columns[i].find_first_not_of("-0123456789."), std::string::npos) << line;
      EXPECT_EQ(columns[5], "ok") << line;
      EXPECT_EQ(columns.back(), is_remembered ? "(published value quoted from memory)" : "ok") << line;
    }
  }
}

TEST(Fidelity, a_mark_or_a_short_form_that_means_nothing_is_told_and_exits_2) {
  const AlteredValues mark("breaking_band", "\"memory\"", "\"remembered\"");
  cli::Finished finished = fidelity({"breaking_band", "--published", mark.path()});
  EXPECT_EQ(finished.code, 2);
  EXPECT_NE(finished.err.find("unknown certainty \"remembered\""), std::string::npos) << finished.err;
  const AlteredValues short_form("qdr", "\"short_form\": [\"2\", \"128\"]", "\"short_form\": [\"1\", \"128\"]");
  finished = fidelity({"qdr", "--short", "--published", short_form.path()});
  EXPECT_EQ(finished.code, 2);
  EXPECT_NE(finished.err.find("short_form names \"1\", which has no value"), std::string::npos) << finished.err;
  const AlteredValues twice("qdr", "\"name\": \"write\"", "\"name\": \"send\"");
  finished = fidelity({"qdr", "--short", "--published", twice.path()});
  EXPECT_EQ(finished.code, 2);
  EXPECT_NE(finished.err.find("\"send.2\" occurs twice"), std::string::npos) << finished.err;
}

TEST(Fidelity, help_names_the_targets) {
  const cli::Finished finished = fidelity({"--help"});
  EXPECT_EQ(finished.code, 0);
  for (const std::string& target : targets_with_a_file())
    EXPECT_NE(finished.out.find(target), std::string::npos) << target;
}

}  // namespace
}  // namespace verbatim::fidelity
