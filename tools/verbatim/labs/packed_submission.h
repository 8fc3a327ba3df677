// A submission as a bundle: the program that was built, and what its runs have seen of the machine.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "sim/bundle/bundle.h"
#include "sim/supervisor/machine/machine_files.h"
#include "sim/supervisor/machine/run_folder.h"
#include "tools/verbatim/labs/lab_folder.h"
#include "tools/verbatim/labs/submission.h"

namespace verbatim::cli {

// Returns "" or a sentence.
std::string write_packed_submission(const std::string& path, const Lab& lab, const Submission& submission,
                                    supervisor::MachineLooks looks);

class PackedSubmission {
 public:
  // nullptr, with a sentence, if it is no such bundle.
  static std::unique_ptr<PackedSubmission> open(const std::string& path, std::string* failure);

  const std::string& lab() const { return lab_; }
  bool is_built() const { return is_built_; }
  const std::string& complaint() const { return complaint_; }
  // The recorded files, those of the submission's folder in `folder`. Called once.
  supervisor::MachineFiles& files_in(const std::filesystem::path& folder);

 private:
  explicit PackedSubmission(bundle::Bundle file);

  bundle::Bundle file_;
  supervisor::RunFolder store_;
  std::string lab_, complaint_, folder_;
  bool is_built_ = false;
  std::unique_ptr<supervisor::FilesOfRecord> files_;
};

}  // namespace verbatim::cli
