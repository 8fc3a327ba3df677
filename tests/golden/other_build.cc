#include "tests/golden/other_build.h"

#include "tests/cli/command.h"

namespace verbatim::golden {

std::string OtherBuild::folder() const { return std::string(VERBATIM_BINARY_DIR) + "/golden-" + name; }

std::string OtherBuild::program() const { return folder() + "/verbatim"; }

std::string OtherBuild::programs(const char* level) const {
  return folder() + "/tests/golden/programs/" + level;
}

std::string OtherBuild::build() const {
  const std::string flags = std::string("=") + optimisation;
  const auto configured = cli::run_command(
      {"cmake", "-S", VERBATIM_SOURCE_DIR, "-B", folder(), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
       std::string("-DCMAKE_C_COMPILER=") + c, std::string("-DCMAKE_CXX_COMPILER=") + cxx,
       "-DCMAKE_CXX_FLAGS_DEBUG" + flags, "-DCMAKE_C_FLAGS_DEBUG" + flags, "-DVERBATIM_WERROR=ON"});
  if (configured.code != 0) return configured.out + configured.err;
  const auto built =
      cli::run_command({"cmake", "--build", folder(), "--target", "golden", "--parallel", "2"});
  return built.code == 0 ? "" : built.out + built.err;
}

bool has_compiler(const OtherBuild& build) { return cli::run_command({build.cxx, "--version"}).code == 0; }

}  // namespace verbatim::golden
