// A bundle that holds a whole user space, for the key "root" of a scenario.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/bundle/bundle.h"
#include "sim/supervisor/machine/machine_files.h"
#include "sim/supervisor/machine/run_folder.h"

namespace verbatim::cli {

class RootBundle {
 public:
  // nullptr, with a sentence, if it is no such bundle. `machine`: files outside the bundle, outlives the object;
  // `shown`: those that programs see, canonical paths.
  static std::shared_ptr<RootBundle> open(const std::string& path, supervisor::MachineFiles& machine,
                                          std::vector<std::string> shown, std::string* failure);
  supervisor::MachineFiles& files() { return *files_; }

 private:
  explicit RootBundle(bundle::Bundle file);

  bundle::Bundle file_;
  supervisor::RunFolder folder_;
  std::unique_ptr<supervisor::FilesOfRecord> root_;
  std::unique_ptr<supervisor::FilesOverRoot> files_;
};

// Writes the files below `folder` as a bundle to `descriptor`. /proc, /sys, /dev, /tmp and /run stay empty. Returns
// "" or a sentence.
std::string write_root_bundle(int descriptor, const std::string& folder);

}  // namespace verbatim::cli
