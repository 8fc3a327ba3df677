// Why a run was not right, in words for students; and causes of many runs, each once.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace verbatim::cli {

// `output`: what the run wrote to standard error. `out`: its --out folder. `folder`: where the program was built; its name is
// left out of the text, since it differs from one grading to the next. Lines without a newline at the end; never empty.
std::vector<std::string> cause_of_run(const std::string& output, const std::filesystem::path& out,
                                      const std::filesystem::path& folder);

// Causes that differ in numbers alone are one. A cause is written out where it is first used, and its first place is named after
// that.
class Causes {
 public:
  struct Failure {
    std::string run;  // "with seed 7"; empty: the only one
    std::vector<std::string> lines;
  };
  // The text for one criterion with these failures among `runs` runs: lines.
  std::vector<std::string> text_for(const std::string& criterion, std::size_t runs, const std::vector<Failure>& failures);

 private:
  std::map<std::string, std::string> first_place_;  // criterion, by cause without numbers
};

}  // namespace verbatim::cli
