// Files searched ahead give what they give when they are searched as they are needed.
#include "sim/supervisor/code/code_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace verbatim::code {
namespace {

const std::string kLoader = "/lib64/ld-linux-x86-64.so.2";

std::vector<std::uint64_t> places(const FileCode* file) {
  std::vector<std::uint64_t> result;
  if (file == nullptr) return result;
  for (const Site& site : file->found.sites) result.push_back(site.address);
  result.insert(result.end(), file->found.memory_maps.begin(), file->found.memory_maps.end());
  return result;
}

TEST(CodeFiles, searched_ahead_are_as_when_needed) {
  CodeFiles when_needed;
  const auto expected = places(when_needed.of(kLoader));
  ASSERT_FALSE(expected.empty());
  // Needed before the searcher has begun with it, or while it searches, or after.
  for (int round = 0; round < 20; ++round) {
    CodeFiles ahead;
    ahead.search_ahead({kLoader, kLoader, "/no/such/file", "/proc", "/etc/passwd"}, round % 2);
    EXPECT_EQ(places(ahead.of(kLoader)), expected);
    EXPECT_EQ(ahead.of("/etc/passwd"), nullptr);
    EXPECT_EQ(ahead.of("/no/such/file"), nullptr);
    EXPECT_EQ(ahead.of(kLoader), ahead.of(kLoader));
  }
}

TEST(CodeFiles, are_searched_for_calls_when_that_is_worth_it) {
  CodeFiles files;
  const FileCode* const loader = files.of(kLoader);
  ASSERT_NE(loader, nullptr);
  EXPECT_EQ(files.calls_of(*loader, CodeFiles::kTrapsWorthSearch - 1), nullptr);
  const std::vector<CallSite>* const calls = files.calls_of(*loader, 1);
  ASSERT_NE(calls, nullptr);
  EXPECT_FALSE(calls->empty());
  EXPECT_EQ(files.calls_of(*loader, 0), calls);
}

TEST(CodeFiles, another_file_of_the_same_name_has_none_of_its_calls) {
  const std::string path = testing::TempDir() + "code_files_test_library";
  std::filesystem::copy_file(kLoader, path, std::filesystem::copy_options::overwrite_existing);
  CodeFiles files;
  const FileCode* const file = files.of(path);
  ASSERT_NE(file, nullptr);
  std::filesystem::remove(path);
  std::filesystem::copy_file("/proc/self/exe", path);
  const std::vector<CallSite>* const calls = files.calls_of(*file, CodeFiles::kTrapsWorthSearch);
  std::filesystem::remove(path);
  ASSERT_NE(calls, nullptr);
  EXPECT_TRUE(calls->empty());
}

TEST(CodeFiles, searched_ahead_and_never_needed) {
  CodeFiles files;
  files.search_ahead({kLoader}, 0);
}

}  // namespace
}  // namespace verbatim::code
