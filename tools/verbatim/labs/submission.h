// A program for a lab, built from C files of one person with the lab's own Makefile, headers, topology and scenarios.
#pragma once

#include <filesystem>
#include <string>

#include "tools/verbatim/interrupted.h"
#include "tools/verbatim/labs/lab_folder.h"

namespace verbatim::cli {

// It is built in a temporary folder, which exists as long as the object.
class Submission {
 public:
  // `source`: a folder whose C files are copied, or one file that becomes lab.c. A file of the lab replaces one with its name.
  // Throws std::filesystem::filesystem_error when the machine has no room.
  Submission(const Lab& lab, const std::filesystem::path& source);
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

  // Compiles it, for a minute at most. False: there is no program, and complaint() has the reason.
  bool build();
  // The user ended build().
  bool is_interrupted() const { return is_interrupted_; }
  // What the compiler wrote, all of it, or our reason; empty: nothing.
  const std::string& complaint() const { return complaint_; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  const Lab& lab_;
  const TemporaryFolder made_;
  const std::filesystem::path folder_;
  std::string complaint_;
  bool is_interrupted_ = false;
};

// The files of a lab's folder that are copied beside the program: all but its texts and its three programs.
std::vector<std::filesystem::path> files_beside_program(const Lab& lab);

}  // namespace verbatim::cli
