// tools/progress.sh shows the progress of long work and stores its output.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/command.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::cli {
namespace {

// Runs `words` in a shell with the functions of tools/progress.sh, and returns their output. Standard output
// is not a terminal.
Finished in_shell(const std::string& words) {
  return run_command({"/bin/bash", "-c", "set -euo pipefail; source " VERBATIM_SOURCE_DIR "/tools/progress.sh; " + words});
}

constexpr char kPattern[] = " 'build' '^\\[([0-9]+)/([0-9]+)\\] (.*)$'";

TEST(Progress, has_a_line_for_each_tenth_where_nobody_watches) {
  const Finished shown = in_shell("for i in {1..50}; do echo \"[$i/50] step\"; done | show_progress" + std::string(kPattern));
  EXPECT_EQ(shown.code, 0) << shown.err;
  for (int tenth = 1; tenth <= 10; ++tenth) {
    const std::string line = "build: " + std::to_string(tenth * 10) + " % [" + std::to_string(tenth * 5) + "/50] after ";
    EXPECT_NE(shown.out.find(line), std::string::npos) << shown.out;
  }
  EXPECT_EQ(std::count(shown.out.begin(), shown.out.end(), '\n'), 10);
}

TEST(Progress, other_lines_are_kept_and_are_shown_on_demand) {
  const support::TemporaryFolder folder;
  const std::string lines = "printf '[1/2] a\\nnoise\\nerror: x\\n[2/2] b\\n' | ";
  const Finished hidden = in_shell("progress_log=" + folder.path() + "/log; " + lines + "show_progress" + kPattern);
  EXPECT_EQ(hidden.out.find("error: x"), std::string::npos) << hidden.out;
  EXPECT_EQ(support::text_of_file(folder.path() + "/log"), "[1/2] a\nnoise\nerror: x\n[2/2] b\n");
  const Finished shown = in_shell("progress_others=show progress_quiet='^noise'; " + lines + "show_progress" + kPattern);
  EXPECT_NE(shown.out.find("error: x\n"), std::string::npos) << shown.out;
  EXPECT_EQ(shown.out.find("noise"), std::string::npos) << shown.out;
}

TEST(Progress, a_command_that_fails_fails_the_pipeline) {
  EXPECT_EQ(in_shell("(echo '[1/2] a'; exit 3) | show_progress" + std::string(kPattern)).code, 3);
}

TEST(Progress, times_are_said_in_minutes_and_seconds) {
  EXPECT_EQ(in_shell("spoken_time 59; spoken_time 60; spoken_time 3725").out, "59 s\n1 min 0 s\n62 min 5 s\n");
}

}  // namespace
}  // namespace verbatim::cli
