// Files for tests of the readers, in a folder that is removed after the test.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sim/config/diagnostics.h"
#include "sim/config/load.h"

namespace verbatim::config {

class Folder {
 public:
  Folder() {
    std::string pattern = ::testing::TempDir() + "verbatim-XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = path_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline LoadOptions with_profiles() { return {{VERBATIM_SOURCE_DIR "/topologies/profiles"}}; }

// All findings without the file name, one a line.
inline std::string text_of(const Diagnostics& diagnostics) {
  std::string text;
  for (const Finding& finding : diagnostics.findings()) {
    Finding bare = finding;
    bare.file = "";
    text += to_string(bare).substr(2) + "\n";
  }
  return text;
}

// Those of a topology file with this text.
inline std::string topology_findings(const std::string& text) {
  Folder folder;
  Diagnostics diagnostics;
  const auto spec = load_topology(folder.write("t.json", text), with_profiles(), diagnostics);
  EXPECT_EQ(spec.has_value(), diagnostics.empty());
  return text_of(diagnostics);
}

}  // namespace verbatim::config
