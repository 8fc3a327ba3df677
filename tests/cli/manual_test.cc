// The manual page has every option of --help, and every exit code.
#include <unistd.h>

#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

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
        {"shell", "--help"}, {"attach", "--help"},
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

// The names of options in a help text or a page.
std::set<std::string> options_in(const std::string& text) {
  const std::regex option("--[a-z][a-z-]*");
  return {std::sregex_token_iterator(text.begin(), text.end(), option), std::sregex_token_iterator()};
}

TEST(Manual, each_verb_has_a_page_with_the_options_of_its_help) {
  const std::string folder = ::testing::TempDir() + "/manual." + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  ASSERT_EQ(verbatim({"manual-pages", folder}).code, 0);
  const std::string help = verbatim({"--help"}).out;
  std::set<std::string> pages;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) pages.insert(entry.path().stem());
  // What follows "Subcommands:", a verb a line.
  std::istringstream lines(help.substr(help.find("Subcommands:")));
  std::size_t verbs = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ") || line[2] == ' ') continue;
    const std::string verb = line.substr(2, line.find(' ', 2) - 2);
    EXPECT_TRUE(pages.contains("verbatim-" + verb)) << verb;
    ++verbs;
  }
  EXPECT_GE(verbs, 13u);
  EXPECT_TRUE(pages.contains("verbatim-lab-run"));
  config::Diagnostics diagnostics;
  for (const std::string& page : pages) {
    std::vector<std::string> words;
    std::istringstream parts(std::regex_replace(page.substr(sizeof "verbatim-" - 1), std::regex("^lab-"), "lab "));
    for (std::string word; parts >> word;) words.push_back(word);
    words.push_back("--help");
    std::string text = config::read_file(folder + "/" + page + ".1", diagnostics).value_or("");
    EXPECT_TRUE(text.starts_with(".TH ")) << page;
    text = std::regex_replace(text, std::regex("\\\\-"), "-");
    const std::string shown = verbatim(words).out;
    std::set<std::string> missing;
    for (const std::string& option : options_in(shown.substr(0, shown.find("\nSubcommands:")))) {
      if (!options_in(text).contains(option)) missing.insert(option);
    }
    EXPECT_EQ(missing, std::set<std::string>()) << page;
  }
  std::filesystem::remove_all(folder);
}

TEST(Manual, roff_reads_the_pages_without_a_warning) {
  if (::access("/usr/bin/groff", X_OK) != 0) GTEST_SKIP() << "no groff";
  const std::string folder = ::testing::TempDir() + "/manual-roff." + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  ASSERT_EQ(verbatim({"manual-pages", folder}).code, 0);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const Finished shown = run_command({"groff", "-man", "-Tutf8", "-ww", "-z", entry.path()});
    EXPECT_EQ(shown.code, 0) << entry.path();
    EXPECT_EQ(shown.err, "") << entry.path();
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace verbatim::cli
