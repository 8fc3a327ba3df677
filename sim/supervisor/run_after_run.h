// State shared by consecutive runs in one process (explore). It saves work and does not change the
// behaviour of a run.
#pragma once

#include <string>

#include "sim/supervisor/code/code_files.h"
#include "sim/supervisor/files/passage.h"
#include "sim/supervisor/machine/run_folder.h"
#include "sim/supervisor/machine/zygotes.h"

namespace verbatim::supervisor {

class RunAfterRun {
 public:
  // `shim_directory`: as in SupervisorOptions. Throws std::system_error when no folder for runs can be made.
  explicit RunAfterRun(const std::string& shim_directory) : folder_(shim_directory + "/keeper") {
    code_files_.use_table(code::CodeTable(shim_directory + "/code.table"));
  }

  // Called before each run: removes what the previous run left that a program could see.
  void begin_run() {
    has_run_ = true;
    folder_.clear();
    code_files_.begin_run();
    passage_.clear();
  }
  // Checks of the machine need not be repeated.
  bool has_run() const { return has_run_; }
  code::CodeFiles& code_files() { return code_files_; }
  RunFolder& folder() { return folder_; }
  Passage& passage() { return passage_; }
  Zygotes& zygotes() { return zygotes_; }

 private:
  bool has_run_ = false;
  code::CodeFiles code_files_;
  RunFolder folder_;
  Passage passage_;
  Zygotes zygotes_{{[this](int descriptor) { return passage_.put(RealFile(descriptor)); }, [this] { passage_.clear(); }}};
};

}  // namespace verbatim::supervisor
