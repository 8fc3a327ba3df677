// Makes packages of this build with cpack.
#pragma once

#include <filesystem>
#include <string>

#include "tests/cli/command.h"

namespace verbatim::cli {

// Makes a package and returns its path, "" on failure.
inline std::string make_package(const std::string& generator, const std::string& folder, const std::string& ending) {
  const Finished made =
      run_command({"cpack", "--config", VERBATIM_BINARY_DIR "/CPackConfig.cmake", "-G", generator, "-B", folder}, folder);
  EXPECT_EQ(made.code, 0) << made.out << made.err;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().string().ends_with(ending)) return entry.path();
  }
  return "";
}

inline bool is_installed(const std::string& program) {
  return run_command({"sh", "-c", "command -v " + program}).code == 0;
}

}  // namespace verbatim::cli
