// A program for a lab: a student's C files, built with the lab's Makefile, headers, topology and scenarios.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "tools/verbatim/interrupted.h"
#include "tools/verbatim/labs/lab_folder.h"

namespace verbatim::cli {

// It is built in a temporary folder, which is removed with the object.
class Submission {
 public:
  // `source` is a folder whose C files are copied, or one file that becomes lab.c. Files of the lab replace
  // files with the same name. Throws std::filesystem::filesystem_error if the disk is full.
  Submission(const Lab& lab, const std::filesystem::path& source);
  // A program that was built elsewhere (packed_submission.h), with the compiler's output. The folder has the lab's
  // files only.
  Submission(const Lab& lab, bool is_built, std::string complaint);
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

  // Compiles it within a minute. Returns false, with a reason in complaint(), if there is no program.
  bool build();
  // The user interrupted build().
  bool is_interrupted() const { return is_interrupted_; }
  // The compiler's output, or our reason; empty: none.
  const std::string& complaint() const { return complaint_; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  void take_files_of_lab();

  const Lab& lab_;
  const TemporaryFolder made_;
  const std::filesystem::path folder_;
  std::string complaint_;
  std::optional<bool> is_built_;  // of a program that was built elsewhere
  bool is_interrupted_ = false;
};

// Files of the lab's folder that are copied beside the program: all but its texts and its three programs.
std::vector<std::filesystem::path> files_beside_program(const Lab& lab);

}  // namespace verbatim::cli
