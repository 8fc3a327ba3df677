// Files searched ahead give what they give when they are searched as they are needed.
#include "sim/supervisor/code/code_files.h"

#include <gtest/gtest.h>

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

TEST(CodeFiles, searched_ahead_and_never_needed) {
  CodeFiles files;
  files.search_ahead({kLoader}, 0);
}

}  // namespace
}  // namespace verbatim::code
