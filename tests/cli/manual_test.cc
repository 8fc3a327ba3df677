// Help, manual pages, completion and guides are consistent, because the same tables generate them.
#include <unistd.h>

#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "sim/config/freedom.h"
#include "tests/cli/command.h"
#include "tests/config/helpers.h"
#include "tools/verbatim/exit_codes.h"
#include "verbs_shim/protocol/checks.h"

namespace verbatim::cli {
namespace {

const char kHandWritten[] = VERBATIM_SOURCE_DIR "/tools/manual";

// The page as text; roff writes an ASCII hyphen as \-.
std::string page_text(const std::string& file) {
  config::Diagnostics diagnostics;
  return std::regex_replace(config::read_file(file, diagnostics).value_or(""), std::regex("\\\\-"), "-");
}

TEST(Manual, help_and_overview_have_every_exit_code) {
  const std::string overview = page_text(VERBATIM_SOURCE_DIR "/tools/verbatim.1");
  const std::string block = verbatim({"guide-block", "exit codes"}).out;
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--help"}, {"run", "--help"}, {"explore", "--help"}}) {
    const std::string help = verbatim(words).out;
    for (const ExitCodeText& row : kExitCodes) {
      const std::string code = std::to_string(row.code);
      EXPECT_TRUE(std::regex_search(help, std::regex("\n  " + code + " +" + std::string(row.summary).substr(0, 20)))) << code;
    }
  }
  for (const ExitCodeText& row : kExitCodes) {
    const std::string code = std::to_string(row.code);
    EXPECT_NE(overview.find(".B " + code + "\n" + std::string(row.summary)), std::string::npos) << code;
    EXPECT_NE(block.find("| `" + code + "` | " + std::string(row.summary)), std::string::npos) << code;
  }
}

TEST(Manual, the_page_of_run_has_every_check_and_freedom) {
  const std::string folder = ::testing::TempDir() + "/manual-checks." + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  ASSERT_EQ(verbatim({"manual-pages", folder, kHandWritten}).code, 0);
  const std::string page = page_text(folder + "/verbatim-run.1");
  for (std::uint32_t i = 1; i < protocol::kCheckCount; ++i) {
    EXPECT_NE(page.find(std::string(".B ") + protocol::kChecks[i].name + "\n" + protocol::kChecks[i].what), std::string::npos)
        << protocol::kChecks[i].name;
  }
  for (const std::string& freedom : config::freedom_names()) EXPECT_NE(page.find(".B " + freedom + "\n"), std::string::npos) << freedom;
  std::filesystem::remove_all(folder);
}

TEST(Manual, what_is_written_by_hand_about_an_option_that_is_gone_is_an_error) {
  config::Folder folder;
  folder.write("ladder.roff", "Text.\n.\\\" option: --none\nMore.\n");
  const Finished option = verbatim({"manual-pages", folder.path(), folder.path()});
  EXPECT_EQ(option.code, 1);
  EXPECT_NE(option.err.find("verbatim ladder has no option --none"), std::string::npos) << option.err;
  folder.write("ladder.roff", ".\\\" generated: nothing\n");
  const Finished block = verbatim({"manual-pages", folder.path(), folder.path()});
  EXPECT_EQ(block.code, 1);
  EXPECT_NE(block.err.find("there is no block nothing"), std::string::npos) << block.err;
}

TEST(Manual, an_unknown_block_of_a_guide_is_an_error) {
  const Finished run = verbatim({"guide-block", "nothing"});
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err, "verbatim: there is no block \"nothing\"\n");
}

// The option names in a help text or a page.
std::set<std::string> options_in(const std::string& text) {
  const std::regex option("--[a-z][a-z-]*");
  return {std::sregex_token_iterator(text.begin(), text.end(), option), std::sregex_token_iterator()};
}

TEST(Manual, each_verb_has_a_page_with_the_options_of_its_help) {
  const std::string folder = ::testing::TempDir() + "/manual." + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  ASSERT_EQ(verbatim({"manual-pages", folder, kHandWritten}).code, 0);
  const std::string help = verbatim({"--help"}).out;
  std::set<std::string> pages;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) pages.insert(entry.path().stem());
  // The text after "Subcommands:", one verb per line.
  std::istringstream lines(help.substr(help.find("Subcommands:")));
  std::size_t verbs = 0;
  for (std::string line; std::getline(lines, line) && !line.starts_with("Exit codes:");) {
    if (!line.starts_with("  ") || line[2] == ' ') continue;
    const std::string verb = line.substr(2, line.find(' ', 2) - 2);
    EXPECT_TRUE(pages.contains("verbatim-" + verb)) << verb;
    ++verbs;
  }
  EXPECT_GE(verbs, 13u);
  EXPECT_TRUE(pages.contains("verbatim-lab-run"));
  const std::string completion = verbatim({"completion", "bash"}).out, overview = page_text(VERBATIM_SOURCE_DIR "/tools/verbatim.1");
  for (const std::string& page : pages) {
    std::vector<std::string> words;
    std::istringstream parts(std::regex_replace(page.substr(sizeof "verbatim-" - 1), std::regex("^lab-"), "lab "));
    for (std::string word; parts >> word;) words.push_back(word);
    words.push_back("--help");
    const std::string text = page_text(folder + "/" + page + ".1");
    EXPECT_TRUE(text.starts_with(".TH ")) << page;
    const std::string shown = verbatim(words).out;
    std::set<std::string> missing;
    for (const std::string& option : options_in(shown.substr(0, std::min(shown.find("\nSubcommands:"), shown.find("\nExit codes:"))))) {
      if (!options_in(text).contains(option)) missing.insert(option);
    }
    EXPECT_EQ(missing, std::set<std::string>()) << page;
    words.pop_back();
    std::string verb;
    for (const std::string& word : words) verb += (verb.empty() ? "" : " ") + word;
    const std::size_t row = completion.find("    '" + verb + "') _verbatim_options=");
    ASSERT_NE(row, std::string::npos) << verb;
    const std::set<std::string> completed = options_in(completion.substr(row, completion.find('\n', row) - row));
    for (const std::string& option : options_in(shown.substr(shown.find("Options:")))) {
      const bool is_named = shown.find("\n  " + option) != std::string::npos || shown.find("," + option) != std::string::npos;
      EXPECT_TRUE(!is_named || completed.contains(option)) << verb << " " << option;
    }
    EXPECT_TRUE(verb == "lab" || overview.find(".B verbatim " + verb + "\n") != std::string::npos) << verb;
  }
  std::filesystem::remove_all(folder);
}

// `verbatim --help` names it as BUILD/man1/verbatim.1.
TEST(Manual, a_build_has_the_overview_beside_the_pages_of_verbs) {
  const std::string pages = std::filesystem::path(VERBATIM_PROGRAM).parent_path().string() + "/man1";
  if (!std::filesystem::exists(pages + "/verbatim-run.1")) GTEST_SKIP() << "this kind of build makes no manual pages";
  EXPECT_EQ(page_text(pages + "/verbatim.1"), page_text(VERBATIM_SOURCE_DIR "/tools/verbatim.1"));
}

TEST(Manual, roff_reads_the_pages_without_a_warning) {
  if (::access("/usr/bin/groff", X_OK) != 0) GTEST_SKIP() << "no groff";
  const std::string folder = ::testing::TempDir() + "/manual-roff." + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  ASSERT_EQ(verbatim({"manual-pages", folder, kHandWritten}).code, 0);
  std::vector<std::string> files = {VERBATIM_SOURCE_DIR "/tools/verbatim.1"};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  for (const std::string& file : files) {
    const Finished shown = run_command({"groff", "-man", "-Tutf8", "-ww", "-z", file});
    EXPECT_EQ(shown.code, 0) << file;
    EXPECT_EQ(shown.err, "") << file;
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace verbatim::cli
