// Slow: many runs in random environments, and a build without optimisation.
#include <random>

#include "tests/cli/command.h"
#include "tests/determinism/surroundings.h"

namespace verbatim::determinism {
namespace {

TEST(Sweep, fifty_runs_one_digest) {
  const auto reference = run_all({});
  std::mt19937 random(50);  // a fixed seed: the same fifty environments each time
  const std::vector<int> cores = allowed_cores();
  for (int i = 0; i < 50; ++i) {
    const support::TemporaryFolder folder;
    Surroundings surroundings;
    surroundings.loaded = random() % 3 == 0;
    surroundings.without_aslr = random() % 2 == 0;
    surroundings.request.options = {"--core", std::to_string(cores[random() % cores.size()])};
    if (random() % 2 == 0) {
      auto& options = surroundings.request.options;
      options.insert(options.end(), {"--poke-period", std::to_string(1 + random() % 10'000)});
    }
    constexpr const char* kUses[] = {"never", "free", "always", "changing"};
    surroundings.request.options.insert(surroundings.request.options.end(), {"--second-core", kUses[random() % 4]});
    if (random() % 2 == 0) surroundings.request.working_directory = folder.path();
    for (unsigned n = random() % 20; n > 0; --n) {
      surroundings.request.environment["VARIABLE_" + std::to_string(n)] = std::string(random() % 1000, 'x');
    }
    SCOPED_TRACE("run " + std::to_string(i) + (surroundings.loaded ? ", loaded" : ""));
    expect_same(run_all(surroundings), reference);
    if (::testing::Test::HasFailure()) return;
  }
}

// The simulator changes its processor at other moments in each run.
TEST(Sweep, simulator_changes_between_processors) {
  if (allowed_cores().size() == 1) GTEST_SKIP() << "this machine has one processor";
  const auto reference = run_all({});
  for (int i = 0; i < 10; ++i) expect_same(run_all({.request = {.options = {"--second-core", "changing"}}}), reference);
}

// Everything built with -O0 instead of -O2: simulator and shim libraries.
TEST(Sweep, an_unoptimised_build_gives_the_same_digest) {
  const std::string build = VERBATIM_BINARY_DIR "/unoptimised";
  const auto configured = cli::run_command({"cmake", "-S", VERBATIM_SOURCE_DIR, "-B", build, "-G", "Ninja",
                                            "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0 -g",
                                            "-DCMAKE_C_FLAGS_DEBUG=-O0 -g", "-DVERBATIM_TESTS=OFF"});
  ASSERT_EQ(configured.code, 0) << configured.out << configured.err;
  const auto built = cli::run_command({"cmake", "--build", build, "--target", "verbatim", "--parallel", "2"});
  ASSERT_EQ(built.code, 0) << built.out << built.err;
  Surroundings surroundings;
  surroundings.request.program = build + "/verbatim";
  expect_same(run_all(surroundings), run_all({}));
}

}  // namespace
}  // namespace verbatim::determinism
