// Runs the token protocol between real threads with ThreadSanitizer.
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/command.h"

namespace verbatim {
namespace {

cli::Finished watched(const char* words) {
  // Without address randomisation ThreadSanitizer can map its shadow memory on any kernel.
  return cli::run_command({"setarch", "-R", BATON_THREADS, words});
}

bool has_sanitizer(const cli::Finished& finished) {
  return finished.err.find("FATAL: ThreadSanitizer") == std::string::npos;
}

TEST(BatonRace, what_is_handed_over_belongs_to_one_side_at_a_time) {
  const cli::Finished ordered = watched("ordered");
  if (!has_sanitizer(ordered)) GTEST_SKIP() << "ThreadSanitizer does not run here: " << ordered.err;
  EXPECT_EQ(ordered.code, 0) << ordered.out << ordered.err;
  EXPECT_NE(ordered.out.find(" hand-overs, 0 mistakes"), std::string::npos) << ordered.out;
}

TEST(BatonRace, words_that_order_nothing_would_be_noticed) {
  const cli::Finished relaxed = watched("relaxed");
  if (!has_sanitizer(relaxed)) GTEST_SKIP() << "ThreadSanitizer does not run here: " << relaxed.err;
  EXPECT_NE(relaxed.code, 0) << relaxed.out;
  EXPECT_NE(relaxed.err.find("WARNING: ThreadSanitizer: data race"), std::string::npos) << relaxed.err;
}

}  // namespace
}  // namespace verbatim
