// `verbatim grade`: grades a submission.
#include <algorithm>
#include <sstream>

#include "sim/config/words.h"
#include "sim/core/input_file.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/labs/grade_text.h"
#include "tools/verbatim/labs/grader.h"
#include "tools/verbatim/labs/lab_folder.h"
#include "tools/verbatim/labs/submission.h"
#include "tools/verbatim/output_file.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;

// Reads seeds that the submission's author does not know: whole numbers separated by white space.
std::optional<std::vector<std::int64_t>> read_seeds(const std::string& file) {
  std::vector<std::int64_t> seeds;
  InputFile input(file, InputFile::Accepts::kRegularFilesAndPipes);
  const auto text = input.rest();
  if (!text) {
    complain(file + " " + input.problem());
    return std::nullopt;
  }
  std::istringstream in(*text);
  for (std::string word; in >> word;) {
    const bool is_number = word.size() < 19 && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number) {
      complain(config::in_quotes(word) + " in " + config::in_quotes(file) +
               " is not a seed; write whole numbers with spaces between them");
      return std::nullopt;
    }
    seeds.push_back(std::stoll(word));
  }
  if (seeds.empty()) complain(config::in_quotes(file) + " has no seeds");
  return seeds.empty() ? std::nullopt : std::optional(seeds);
}

}  // namespace

int grade(const GradeOptions& options) {
  const fs::path folder = options.folder;
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    complain(config::in_quotes(options.folder) + " is not a folder");
    return kUsage;
  }
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) protect_input(at->path().string());
  for (const std::string& path : {options.junit, options.gradescope})
    if (!can_write(path)) return kUsage;
  const auto lab = lab_of(folder, options.lab);
  if (!lab) return kUsage;
  GraderOptions how{.call_by_call = options.call_by_call};
  if (!options.seeds_file.empty()) {
    const auto read = read_seeds(options.seeds_file);
    if (!read) return kUsage;
    how.seeds = *read;
  }
  try {
    Submission submission(*lab, folder);
    Answer answer("grade", options.style);
    how.shows_progress = answer.is_for_people();
    Grader grader(*lab, submission, std::move(how));
    if (!grader.run()) {
      complain("interrupted; nothing was graded");
      return kInterrupted;
    }
    say_grades(answer, *lab, grader.grades());
    for (const auto& [path, text] : {std::pair(options.junit, junit_of(*lab, grader.grades())),
                                     std::pair(options.gradescope, gradescope_text(*lab, grader.grades()))}) {
      const std::string failure = path.empty() ? "" : write_document(path, text);
      if (failure.empty()) continue;
      complain(failure);
      return kUsage;
    }
    return answer.end(grader.points() == lab->points() ? kAsExpected : kProgramFailed);
  } catch (const fs::filesystem_error& failure) {
    complain(failure.what());
    return kMachineFault;
  }
}

}  // namespace verbatim::cli
