// What somebody has made of a lab: its C files, built with the lab's own Makefile, header, topology and scenarios.
#pragma once

#include <filesystem>
#include <string>

#include "tools/verbatim/labs/lab_folder.h"

namespace verbatim::cli {

// The folder it is built in exists as long as this does.
class Submission {
 public:
  // Copies what there is of it in `folder`. Throws std::filesystem::filesystem_error when the machine has no room.
  Submission(const Lab& lab, const std::filesystem::path& folder);
  ~Submission();
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

  // Compiles it, for a minute at most. False: there is no program; complaint() says why.
  bool build();
  // What the compiler, or we, had to say of it; empty: nothing.
  const std::string& complaint() const { return complaint_; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  const Lab& lab_;
  std::filesystem::path folder_;
  std::string complaint_;
};

}  // namespace verbatim::cli
