// Explains to students why a run failed, and combines equal causes of many runs.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace verbatim::cli {

// `output` is the run's standard error, `out` its --out folder. `folder` is the program's build folder; its
// name is removed from the text because it differs between gradings. Returns at least one line, without
// newlines.
std::vector<std::string> cause_of_run(const std::string& output, const std::filesystem::path& out,
                                      const std::filesystem::path& folder);

// Combines causes that differ only in numbers. A cause is written in full where it first occurs; later it
// refers to that place.
class Causes {
 public:
  struct Failure {
    std::string run;  // "with seed 7"; empty: the only run
    std::vector<std::string> lines;
  };
  // Lines for a criterion with these failures among `runs` runs.
  std::vector<std::string> text_for(const std::string& criterion, std::size_t runs, const std::vector<Failure>& failures);

 private:
  std::map<std::string, std::string> first_place_;  // criterion, by cause without numbers
};

}  // namespace verbatim::cli
