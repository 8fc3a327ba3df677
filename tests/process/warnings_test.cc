// The number of warnings of a program is limited, and the rest is counted.
#include "sim/supervisor/warning_log.h"

#include <algorithm>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using supervisor::WarningLog;

void warn(WarningLog& log, const std::string& text, bool weakens = false) {
  if (log.has_room(text, weakens)) log.add(text);
}

TEST(Warnings, numbers_and_paths_do_not_make_another_kind) {
  EXPECT_EQ(supervisor::warning_kind("/proc/net/tcp is refused with 0x1f; got 22"), "/ is refused with #; got #");
}

TEST(Warnings, of_one_kind_are_shown_up_to_the_bound_and_counted_after_it) {
  WarningLog log;
  for (int i = 0; i < 250; ++i) warn(log, "call " + std::to_string(i));
  EXPECT_EQ(log.rest(), std::vector<std::string>{"150 more warnings of this kind: call 0"});
}

TEST(Warnings, of_many_kinds_leave_room_for_those_that_weaken) {
  WarningLog log;
  for (int i = 0; i < 2000; ++i) warn(log, std::string(static_cast<std::size_t>(i), 'x'));
  EXPECT_EQ(log.rest(), std::vector<std::string>{"1100 more warnings of other kinds"});
  EXPECT_TRUE(log.has_room("weak", true));
}

TEST(Warnings, of_a_program_that_makes_100000_are_counted_in_the_report) {
  const support::RunReport run = support::run_pair(support::quoted(std::string(PROCESS_FOLDER) + "/many_warnings"), "true");
  ASSERT_EQ(run.code, 0) << run.story();
  const auto& warnings = run.report["warnings"];
  ASSERT_EQ(warnings.size(), WarningLog::kMostOfKind + 1u);
  EXPECT_TRUE(warnings.back().get<std::string>().starts_with("server: many_warnings: 99900 more warnings of this kind: system call "))
      << warnings.back();
  EXPECT_NE(run.err.find("99900 more warnings of this kind"), std::string::npos);
}

TEST(Warnings, of_a_program_that_makes_1500_kinds_are_counted_in_the_report) {
  const support::RunReport run = support::run_pair(support::quoted(std::string(PROCESS_FOLDER) + "/many_warning_kinds"), "true");
  ASSERT_EQ(run.code, 0) << run.story();
  const auto& warnings = run.report["warnings"];
  constexpr std::size_t kShown = WarningLog::kMost - WarningLog::kReservedForWeak;
  ASSERT_EQ(warnings.size(), kShown + 1);
  for (std::size_t i = 0; i < kShown; ++i)
    EXPECT_NE(warnings[i].get<std::string>().find("cannot execute /tmp/kind "), std::string::npos) << warnings[i];
  EXPECT_EQ(warnings.back(), "server: many_warning_kinds: 600 more warnings of other kinds");
}

}  // namespace
}  // namespace verbatim
