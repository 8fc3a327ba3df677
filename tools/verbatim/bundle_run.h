// A bundle whose run is repeated: what it holds of the machine is in a folder of its own, removed with the object.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sim/bundle/bundle.h"
#include "sim/supervisor/machine/machine_files.h"
#include "sim/supervisor/machine/run_folder.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/replay_file.h"

namespace verbatim::cli {

// Name of a session's file in a bundle.
inline constexpr const char* kSessionOfBundle = "session";

// Repeats the session in `file` with `recorder`; `run` gets its run. Returns an exit code; kUsage after an error
// message.
int pack_session(const std::string& file, const AnswerStyle& style, supervisor::RecordedFiles& recorder, ReplayFile* run);

// The manifest of a bundle: the run, and whether its decisions are a part of it.
std::string bundle_manifest(const ReplayFile& run, bool has_decisions);

class BundleRun {
 public:
  // nullptr, with a sentence, if the bundle or the machine's room for its files cannot be used.
  static std::shared_ptr<BundleRun> open(const std::string& path, std::string* failure);

  const std::string& path() const { return path_; }
  ReplayFile& run() { return run_; }
  bool has_decisions() const { return has_decisions_; }
  supervisor::MachineFiles& files() { return *files_; }
  const bundle::Bundle& file() const { return *file_; }
  // Options of the packed run, with its arguments.
  const RunOptions& options() const { return options_; }

 private:
  explicit BundleRun(const std::string& path) : path_(path), folder_(shim_keeper()) {}
  static std::string shim_keeper();

  std::string path_;
  std::optional<bundle::Bundle> file_;
  supervisor::RunFolder folder_;
  ReplayFile run_;
  bool has_decisions_ = false;
  RunOptions options_;
  std::unique_ptr<supervisor::FilesOfRecord> files_;
};

// If the only argument is a bundle, opens it and makes `options` those of the packed run, with what `options`
// has replaced or added. False, after an error message, if it cannot be used.
bool take_bundle(RunOptions& options);

}  // namespace verbatim::cli
