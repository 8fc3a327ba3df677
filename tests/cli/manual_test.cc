// The manual page has every option of --help, and every exit code.
#include <regex>
#include <set>

#include "tests/cli/command.h"
#include "tests/config/helpers.h"

namespace verbatim::cli {
namespace {

TEST(Manual, has_every_option_of_help) {
  config::Diagnostics diagnostics;
  std::string manual = config::read_file(VERBATIM_SOURCE_DIR "/tools/verbatim.1", diagnostics).value_or("");
  ASSERT_FALSE(manual.empty());
  manual = std::regex_replace(manual, std::regex("\\\\-"), "-");  // roff writes an ASCII hyphen as \-
  std::set<std::string> options;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--help"}, {"run", "--help"}, {"explore", "--help"}, {"replay", "--help"},
        {"shrink", "--help"}, {"bisect", "--help"}, {"ladder", "--help"}, {"lab", "run", "--help"}, {"grade", "--help"}, {"explain", "--help"}, {"report", "--help"}, {"check", "--help"},
        {"describe", "--help"}}) {
    const Finished run = verbatim(words);
    EXPECT_EQ(run.code, 0);
    const std::regex option("--[a-z][a-z-]*");
    for (std::sregex_iterator it(run.out.begin(), run.out.end(), option), end; it != end; ++it)
      options.insert(it->str());
  }
  EXPECT_GE(options.size(), 12u);
  for (const std::string& option : options) {
    EXPECT_TRUE(std::regex_search(manual, std::regex("\n\\.B[RI]? [^\n]*" + option + "( |\n)"))) << option;
  }
  for (const char* code : {"0", "1", "2", "3", "4", "5", "70"}) {
    EXPECT_NE(manual.find(std::string(".B ") + code + "\n"), std::string::npos) << code;
  }
}

}  // namespace
}  // namespace verbatim::cli
