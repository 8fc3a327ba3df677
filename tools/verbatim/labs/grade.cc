// `verbatim grade`: grades a submission.
#include <algorithm>
#include <memory>
#include <sstream>

#include "sim/bundle/bundle.h"
#include "sim/config/words.h"
#include "sim/core/input_file.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/labs/grade_text.h"
#include "tools/verbatim/labs/grader.h"
#include "tools/verbatim/labs/lab_folder.h"
#include "tools/verbatim/labs/packed_submission.h"
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

// Grades the submission for the sake of what its programs look at, and packs it.
int pack_submission(const GradeOptions& options) {
  if (const std::string refusal = output_refusal(options.pack); !refusal.empty()) return complain("--pack: " + refusal), kUsage;
  const auto lab = lab_of(options.folder, options.lab);
  if (!lab) return kUsage;
  try {
    Submission submission(*lab, options.folder);
    Answer answer("grade", options.style);
    Grader grader(*lab, submission, {.shows_progress = answer.is_for_people(), .keeps_looks = true});
    if (!grader.run()) {
      complain("interrupted; nothing was packed");
      return kInterrupted;
    }
    const std::string failure = write_packed_submission(options.pack, *lab, submission, grader.looks());
    if (!failure.empty()) return complain(failure), kMachineFault;
    print_grades(answer, *lab, grader.grades());
    answer.print("packed: %s\n", options.pack.c_str());
    return answer.end(kAsExpected);
  } catch (const fs::filesystem_error& failure) {
    complain(failure.what());
    return kMachineFault;
  }
}

}  // namespace

int grade(const GradeOptions& options) {
  if (!options.pack.empty()) return pack_submission(options);
  const fs::path folder = options.folder;
  std::error_code error;
  const bool is_packed = bundle::is_bundle(options.folder);
  if (is_packed) protect_input(options.folder);
  if (!is_packed && !fs::is_directory(folder, error)) {
    complain(config::in_quotes(options.folder) + " is not a folder");
    return kUsage;
  }
  fs::recursive_directory_iterator at;
  if (!is_packed) at = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) protect_input(at->path().string());
  for (const std::string& path : {options.junit, options.gradescope})
    if (!can_write(path)) return kUsage;
  std::unique_ptr<PackedSubmission> packed;
  if (is_packed) {
    std::string failure;
    packed = PackedSubmission::open(options.folder, &failure);
    if (packed == nullptr) return complain(failure), kUsage;
  }
  const auto lab = packed != nullptr ? find_lab(options.lab.empty() ? packed->lab() : options.lab) : lab_of(folder, options.lab);
  if (!lab) return kUsage;
  GraderOptions how{.call_by_call = options.call_by_call};
  if (!options.seeds_file.empty()) {
    const auto read = read_seeds(options.seeds_file);
    if (!read) return kUsage;
    how.seeds = *read;
  }
  try {
    std::optional<Submission> one;
    packed != nullptr ? one.emplace(*lab, packed->is_built(), packed->complaint()) : one.emplace(*lab, folder);
    Submission& submission = *one;
    if (packed != nullptr) how.files = &packed->files_in(submission.folder());
    Answer answer("grade", options.style);
    how.shows_progress = answer.is_for_people();
    Grader grader(*lab, submission, std::move(how));
    if (!grader.run()) {
      complain("interrupted; nothing was graded");
      return kInterrupted;
    }
    print_grades(answer, *lab, grader.grades());
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
