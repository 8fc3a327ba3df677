// The short form of every target is within its bounds, and the tool says so when a value is not.
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
  const cli::Finished finished = fidelity({"--short", GetParam()});
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  EXPECT_NE(finished.out.find(GetParam() + "."), std::string::npos) << "it has values at all";
}

INSTANTIATE_TEST_SUITE_P(Fidelity, Target, ::testing::ValuesIn(targets_with_a_file()),
                         [](const auto& info) { return info.param; });

// A folder with the published values, one of which is replaced.
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

TEST(Fidelity, help_names_the_targets) {
  const cli::Finished finished = fidelity({"--help"});
  EXPECT_EQ(finished.code, 0);
  for (const std::string& target : targets_with_a_file())
    EXPECT_NE(finished.out.find(target), std::string::npos) << target;
}

}  // namespace
}  // namespace verbatim::fidelity
