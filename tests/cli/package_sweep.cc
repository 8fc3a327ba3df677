// Slow: checks the origin of every library of the Debian package.
#include <gmock/gmock.h>

#include "sim/core/sanitizer.h"
#include "tests/cli/package.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Package, a_debian_package_says_what_it_needs) {
  if (kHasAddressSanitizer) GTEST_SKIP() << "with AddressSanitizer a program needs more libraries";
  if (!is_installed("cpack") || !is_installed("dpkg-shlibdeps")) GTEST_SKIP() << "cpack or dpkg-dev is not installed";
  const support::TemporaryFolder folder;
  const std::string package = make_package("DEB", folder.path(), ".deb");
  ASSERT_FALSE(package.empty());
  const std::string needs = run_command({"dpkg-deb", "-f", package, "Depends"}).out;
  EXPECT_THAT(needs, AllOf(HasSubstr("libc6 (>="), Not(HasSubstr(","))));
  const std::string files = run_command({"dpkg-deb", "-c", package}).out;
  for (const char* file : {"./usr/bin/verbatim", "/verbatim/libibverbs.so.1", "/verbatim/code.table", "/verbatim/keeper",
                           "./usr/share/bash-completion/completions/verbatim", "./usr/share/zsh/site-functions/_verbatim",
                           "./usr/share/fish/vendor_completions.d/verbatim.fish", "/scenarios/labs/01-first-pingpong/skeleton.c"}) {
    EXPECT_THAT(files, HasSubstr(file));
  }
}

}  // namespace
}  // namespace verbatim::cli
