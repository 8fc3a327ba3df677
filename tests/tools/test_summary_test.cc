// tools/test_summary counts cases, not processes, and lists reasons of skipped ones.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/cli/command.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::cli {
namespace {

std::string testcase(const std::string& name, const std::string& status, const std::string& inside, const std::string& seconds = "1") {
  return "<testcase name=\"" + name + "\" classname=\"" + name + "\" time=\"" + seconds + "\" status=\"" + status + "\">" + inside +
         "</testcase>\n";
}

std::string output(const std::string& text) { return "<system-out>" + text + "</system-out>"; }

Finished summary_of(const std::string& testcases, const std::vector<std::string>& options = {}) {
  const support::TemporaryFolder folder;
  const std::string file = folder.path() + "/junit.xml";
  std::ofstream(file) << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"x\">\n" << testcases << "</testsuite>\n";
  std::vector<std::string> words = {VERBATIM_SOURCE_DIR "/tools/test_summary"};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back(file);
  return run_command(words);
}

const std::string kOne = "[==========] 1 test from 1 test suite ran. (0 ms total)\n[  PASSED  ] 1 test.\n";

TEST(TestSummary, a_whole_suite_counts_as_its_cases) {
  const Finished summary = summary_of(testcase("a_test: A.one", "run", output(kOne)) +
                                      testcase("b_test: all", "run", output("[==========] 546 tests from 30 test suites ran. (9 ms total)\n"
                                                                            "[  PASSED  ] 546 tests.\n")));
  EXPECT_EQ(summary.out, "547 passed, 0 failed, 0 skipped\n");
  EXPECT_EQ(summary.code, 0);
}

TEST(TestSummary, reasons_of_skipped_cases_are_shown) {
  const std::string skip =
      "[ RUN      ] A.two\n/x/a_test.cc:12: Skipped\nthis machine has\none processor\n\n[  SKIPPED ] A.two (0 ms)\n"
      "[==========] 1 test from 1 test suite ran. (0 ms total)\n[  PASSED  ] 0 tests.\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] A.two\n";
  const std::string brief =
      "/x/b_test.cc:7: Skipped\nno browser\n\n[==========] 3 tests from 1 test suite ran. (0 ms total)\n[  PASSED  ] 2 tests.\n[  SKIPPED ] 1 test.\n";
  const Finished summary =
      summary_of(testcase("a_test: A.two", "notrun", "<skipped message=\"SKIP_REGULAR_EXPRESSION_MATCHED\"/>" + output(skip)) +
                 testcase("b_test: all", "run", output(brief)) + testcase("c_test: C.off", "disabled", output("Disabled")));
  EXPECT_EQ(summary.out,
            "Skipped:\n"
            "  a_test: A.two: this machine has one processor\n"
            "  b_test: all (b_test.cc:7): no browser\n"
            "  c_test: C.off: disabled\n"
            "2 passed, 0 failed, 3 skipped\n");
  EXPECT_EQ(summary.code, 0);
}

TEST(TestSummary, failed_cases_are_named) {
  const std::string two_of_nine =
      "/x/a_test.cc:3: Failure\n[  FAILED  ] A.one, where GetParam() = 3 (2 ms)\n[  FAILED  ] A.two (2 ms)\n"
      "[==========] 9 tests from 1 test suite ran. (0 ms total)\n[  PASSED  ] 7 tests.\n[  FAILED  ] 2 tests, listed below:\n"
      "[  FAILED  ] A.one, where GetParam() = 3\n[  FAILED  ] A.two\n";
  const Finished summary =
      summary_of(testcase("a_test: all", "fail", "<failure message=\"\"/>" + output(two_of_nine)) +
                 testcase("b_test: B.crashes", "fail", "<failure message=\"\"/>" + output("[ RUN      ] B.crashes\n")) +
                 testcase("c_test: fails after its cases", "fail", "<failure message=\"\"/>" + output(kOne)) +
                 testcase("d_test_NOT_BUILT", "notrun", "<skipped message=\"Unable to find executable\"/>" + output("")));
  EXPECT_EQ(summary.out,
            "Failed:\n"
            "  a_test: A.one\n"
            "  a_test: A.two\n"
            "  b_test: B.crashes\n"
            "  c_test: fails after its cases\n"
            "  d_test_NOT_BUILT: not run (Unable to find executable)\n"
            "7 passed, 5 failed, 0 skipped\n");
  EXPECT_EQ(summary.code, 1);
}

TEST(TestSummary, the_slowest_are_listed_when_asked_for) {
  const std::string three = testcase("a: A.x", "run", output(kOne), "0.5") + testcase("a: A.y", "run", output(kOne), "12.25") +
                            testcase("a: A.z", "run", output(kOne), "3");
  EXPECT_EQ(summary_of(three, {"--slowest", "2"}).out,
            "Slowest:\n     12.25 s  a: A.y\n      3.00 s  a: A.z\n3 passed, 0 failed, 0 skipped\n");
}

TEST(TestSummary, nothing_that_ran_is_no_success) {
  EXPECT_EQ(summary_of("").code, 1);
  EXPECT_EQ(run_command({VERBATIM_SOURCE_DIR "/tools/test_summary", "/nowhere/junit.xml"}).code, 2);
}

}  // namespace
}  // namespace verbatim::cli
