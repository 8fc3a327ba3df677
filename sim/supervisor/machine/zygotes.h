// Zygotes: processes that were started and linked once, and are copied for each of many runs
// (verbs_shim/runtime/zygote.cc) in place of a start. A copy is used only if all inputs of the start are
// equal and the files that the zygote was made from are unchanged.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/supervisor/code/code_patches.h"
#include "sim/supervisor/machine/file_identity.h"
#include "sim/supervisor/machine/launcher.h"
#include "sim/supervisor/machine/process_region.h"

namespace verbatim::supervisor {

class Zygotes {
 public:
  // Passes regions to copies; it is empty whenever a program is started.
  struct Passage {
    std::function<bool(int descriptor)> put;  // false: there is no room
    std::function<void()> clear;
  };
  explicit Zygotes(Passage passage) : passage_(std::move(passage)) {}
  ~Zygotes();
  Zygotes(const Zygotes&) = delete;
  Zygotes& operator=(const Zygotes&) = delete;

  // As launch() of launcher.h; starts a process if no copy can be used.
  LaunchedProcess launch(const LaunchRequest& request);

  std::uint64_t copies() const { return copies_; }

 private:
  struct Zygote {
    pid_t pid = -1;
    std::unique_ptr<ProcessRegion> region;
    std::unique_ptr<code::CodePatches> patches;
    std::string early_output[2];
    std::string auxiliary_vector;
    std::vector<std::string> code_files;  // code files it was made from
    // of these, of the executable, the working folder and the loader's files in /etc
    std::vector<FileIdentity> identities;
  };
  static constexpr std::size_t kMost = 64;  // with more programs, the others are started

  static std::vector<FileIdentity> identities_of(const Zygote& zygote, const LaunchRequest& request);
  // Starts a zygote and keeps it under `key`; nullptr: it cannot be made, and launch() starts the process itself.
  Zygote* make(const std::string& key, const LaunchRequest& request);
  // Waits until the zygote can be copied again. False: it has ended or does not answer.
  static bool is_ready(Zygote& zygote);
  static void end(Zygote& zygote);

  Passage passage_;
  std::map<std::string, Zygote> zygotes_;  // by key_of() of the start
  std::uint64_t copies_ = 0;
};

}  // namespace verbatim::supervisor
