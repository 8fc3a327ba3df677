// clang++ compiles simulator, shim and tools without a warning, and they give the golden digests. The sweep
// has more builds.
#include "tests/golden/other_build.h"

#include <gmock/gmock.h>

#include <cstdio>

#include "tests/golden/golden_table.h"

namespace verbatim::golden {
namespace {

TEST(OtherCompiler, gives_the_same_digests) {
  // Not optimised, because most of the time is the compiler's and the objects are in ccache after the first
  // build.
  const OtherBuild other{"clang_O0", "clang-14", "clang++-14", "-O0"};
  if (!has_compiler(other)) GTEST_SKIP() << "there is no " << other.cxx;
  ASSERT_EQ(other.build(), "");
  const Table table = read_table(table_path());
  const Comparison result =
      compare(table, {.request = {.program = other.program()}, .programs = other.programs("O0")});
  std::printf("%s\n", result.summary().c_str());
  EXPECT_GE(result.compared, table.least_compared);
  EXPECT_THAT(result.differing, ::testing::IsEmpty());
}

}  // namespace
}  // namespace verbatim::golden
