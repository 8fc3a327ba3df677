// The golden table is right on this machine, for any user and environment.
#include <gmock/gmock.h>

#include <cstdio>
#include <set>

#include "tests/golden/surroundings.h"

namespace verbatim::golden {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Table& table() {
  static const Table kTable = read_table(table_path());
  return kTable;
}

void expect_golden(const Setting& setting, const Choice& choice = nullptr) {
  const Comparison result = compare(table(), setting, choice);
  std::printf("%s\n", result.summary().c_str());
  EXPECT_GT(result.compared, 0u);
  EXPECT_THAT(result.differing, IsEmpty());
}

// Some rows of every kind.
bool is_sample(const Row& row) {
  static const std::set<std::string> kNames = {"verbs_every_operation", "verbs_random_spec", "tcp",
                                               "threads",               "fork",              "clocks",
                                               "ibv_rc_pingpong",       "ib_write_lat",      "python_hashing",
                                               "python_threads",        "openssl_rand",      "shell",
                                               "credentials",           "owners"};
  return kNames.contains(row.name);
}

// Fewer rows, for tests with many environments; the sweep has all rows.
bool is_small_sample(const Row& row) {
  static const std::set<std::string> kNames = {"verbs_random_spec", "tcp", "fork", "ibv_rc_pingpong", "clocks", "credentials"};
  return kNames.contains(row.name);
}

TEST(Golden, the_table_holds) {
  const Comparison result = compare(table(), {});
  std::printf("%s\n", result.summary().c_str());
  EXPECT_THAT(result.differing, IsEmpty());
  EXPECT_GE(result.compared, table().least_compared);
}

TEST(Golden, holds_call_by_call) {
  expect_golden({.request = {.options = {"--call-by-call"}}}, [](const Row& row) {
    return row.name != "verbs_every_byte" && row.name != "verbs_events" && row.name != "ibv_rc_pingpong";
  });
}

TEST(Golden, holds_for_programs_compiled_without_optimisation) {
  expect_golden({.programs = plain_programs()}, is_own);
}

TEST(Golden, holds_on_one_processor) {
  expect_golden({.request = {.wrapper = on_one_processor()}}, is_sample);
}

TEST(Golden, holds_for_a_user_without_privileges) {
  const Unprivileged user;
  if (!user.reason().empty()) GTEST_SKIP() << user.reason();
  expect_golden(user.setting(), is_sample);
}

TEST(Golden, holds_in_a_container) {
  std::string reason;
  const std::vector<std::string> wrapper = in_namespaces(&reason);
  if (wrapper.empty()) GTEST_SKIP() << reason;
  expect_golden({.request = {.wrapper = wrapper}}, is_sample);
}

// Packages put modules, and code for every start of the interpreter, into folders that it reads.
TEST(Golden, holds_with_an_extra_package) {
  support::TemporaryFolder folder;
  std::string reason;
  const std::vector<std::string> wrapper = with_an_extra_package(folder.path(), &reason);
  if (wrapper.empty()) GTEST_SKIP() << reason;
  const auto runs_python = [](const Row& row) { return row.name.starts_with("python_"); };
  const Comparison result = compare(table(), {.request = {.wrapper = wrapper}}, runs_python);
  EXPECT_THAT(result.differing, IsEmpty());
  // An interpreter with `site` executes what the package has added.
  Row row = *std::ranges::find_if(table().rows, runs_python);
  row.commands = {"server=/usr/bin/python3.11 -I {scripts}/hashing.py"};
  const std::string with = run(row, {.request = {.wrapper = wrapper}}).digest();
  EXPECT_NE(with, "");
  EXPECT_NE(with, run(row, {}).digest());
  // All these rows depend on the version of the interpreter.
  if (result.compared == 0) GTEST_SKIP() << result.summary();
}

TEST(Golden, holds_where_a_facility_is_missing) {
  std::string reason;
  const std::vector<std::string> names = facilities(&reason);
  if (names.empty()) GTEST_SKIP() << reason;
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    expect_golden({.request = {.options = {"--assume-missing=" + name}}}, is_small_sample);
  }
}

TEST(Golden, holds_in_a_bundle) { expect_golden({.packed = true}); }

TEST(Golden, holds_twice) { expect_golden({.runs = 2}, is_sample); }

// Every machine can compare some rows, whatever packages are installed.
TEST(Table, is_mostly_the_projects_own_programs) {
  const std::size_t rows = table().rows.size();
  const auto own = static_cast<std::size_t>(std::count_if(table().rows.begin(), table().rows.end(), is_own));
  EXPECT_GE(rows, 12u);
  EXPECT_GT(2 * own, rows);
  EXPECT_GT(2 * table().least_compared, rows);
}

// A row may lack a digest only as long as its programs execute instructions whose results depend on the
// machine.
TEST(Table, has_digests) {
  for (const Row& row : table().rows) {
    if (row.digest.empty()) {
      EXPECT_THAT(row.needs, ::testing::Not(IsEmpty())) << row.name;
    } else {
      EXPECT_THAT(row.digest, ::testing::MatchesRegex("[0-9a-f]{32}")) << row.name;
    }
  }
}

TEST(Comparison, finds_another_digest) {
  Table wrong = table();
  std::erase_if(wrong.rows, [](const Row& row) { return row.name != "tcp"; });
  ASSERT_EQ(wrong.rows.size(), 1u);
  wrong.rows[0].digest[0] ^= 1;
  const Comparison result = compare(wrong, {});
  EXPECT_EQ(result.summary(), "golden: 1 rows, 1 compared, 1 DIFFERENT");
  ASSERT_EQ(result.differing.size(), 1u);
  EXPECT_THAT(result.differing[0], HasSubstr("tcp: digest " + table().rows[7].digest));
}

TEST(Comparison, names_what_it_skips) {
  Table other = table();
  std::erase_if(other.rows, [](const Row& row) { return row.name != "tcp"; });
  other.rows.push_back(other.rows[0]);
  other.rows.back().packages = {{"libc6", "1.0"}, {"no-such-package", "2.0"}};
  other.rows.push_back(other.rows[0]);
  other.rows.back().digest = "";
  other.rows.back().needs = {"rdrand"};
  other.rows.push_back(other.rows[0]);
  other.rows.back().c_library = "1.0";
  const std::string libc = installed_versions({"libc6"})["libc6"];
  const Comparison result = compare(other, {});
  EXPECT_EQ(result.rows, 4u);
  EXPECT_EQ(result.compared, 1u);
  EXPECT_THAT(result.skipped,
              ElementsAre("libc6 " + (libc.empty() ? "not installed" : libc) +
                              " (table: 1.0), no-such-package not installed (table: 2.0)",
                          HasSubstr("tcp (no digest: its runs differed when the table was made; it executes "
                                    "rdrand)"),
                          AllOf(HasSubstr("tcp (C library "), HasSubstr(", table: 1.0)"))));
  EXPECT_THAT(result.summary(), HasSubstr("golden: 4 rows, 1 compared, 3 skipped: libc6 "));
}

}  // namespace
}  // namespace verbatim::golden
