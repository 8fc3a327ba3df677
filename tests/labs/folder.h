// A student's folder of a lab, as made by `lab start`, with a source of the test.
#pragma once

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::labs {

inline std::string source_of(const std::string& lab, const std::string& version) {
  return support::text_of_file(std::string(VERBATIM_SOURCE_DIR) + "/scenarios/labs/" + lab + "/" + version + ".c");
}

class Folder {
 public:
  Folder(const std::string& lab, const std::string& source) : path_(folder_.path() + "/of a student") {
    const cli::Finished started = cli::verbatim({"lab", "start", lab, path_});
    EXPECT_EQ(started.code, 0) << started.err;
    std::ofstream(path_ + "/lab.c") << source;
  }

  // `seeds`: "1 2"; empty: those of the lab.
  cli::Finished grade(const std::string& seeds, const std::vector<std::string>& options = {}) const {
    std::vector<std::string> words = {"grade", path_, "--junit", folder_.path() + "/junit.xml", "--gradescope",
                                      folder_.path() + "/gradescope.json"};
    words.insert(words.end(), options.begin(), options.end());
    if (!seeds.empty()) {
      std::ofstream(folder_.path() + "/seeds") << seeds << "\n";
      words.insert(words.end(), {"--seeds-file", folder_.path() + "/seeds"});
    }
    return cli::verbatim(words);
  }
  nlohmann::json gradescope() const {
    return nlohmann::json::parse(support::text_of_file(folder_.path() + "/gradescope.json"), nullptr, false);
  }
  std::string junit() const { return support::text_of_file(folder_.path() + "/junit.xml"); }
  const std::string& path() const { return path_; }

 private:
  support::TemporaryFolder folder_;
  std::string path_;
};

// The points in the last line of a grader's output; -1 if there are none.
inline int points_of(const cli::Finished& graded) {
  const std::size_t end = graded.out.rfind(" points\n");
  if (end == std::string::npos) return -1;
  const std::size_t line = graded.out.rfind('\n', end);
  return std::atoi(graded.out.c_str() + (line == std::string::npos ? 0 : line + 1));
}

}  // namespace verbatim::labs
