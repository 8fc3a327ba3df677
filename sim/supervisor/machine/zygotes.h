// Processes that were started and linked, and are copied for each of many runs (verbs_shim/runtime/zygote.cc) in place of a
// start: what is asked for has to be the same in all that a start depends on, and no file that it was made of may have changed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/supervisor/code/code_patches.h"
#include "sim/supervisor/machine/launcher.h"
#include "sim/supervisor/machine/process_region.h"

namespace verbatim::supervisor {

class Zygotes {
 public:
  // Hands regions to copies; it is empty whenever a program is started.
  struct Passage {
    std::function<bool(int descriptor)> put;  // false: there is no room
    std::function<void()> clear;
  };
  explicit Zygotes(Passage passage) : passage_(std::move(passage)) {}
  ~Zygotes();
  Zygotes(const Zygotes&) = delete;
  Zygotes& operator=(const Zygotes&) = delete;

  // As launch() of launcher.h. What cannot be a copy is started.
  LaunchedProcess launch(const LaunchRequest& request);

  std::uint64_t copies() const { return copies_; }

 private:
  // Device, inode, size, times of modification and change: another file, or the same one changed, is another identity. The
  // number of one that a process has mapped is not given to another.
  using Identity = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  struct Zygote {
    pid_t pid = -1;
    std::unique_ptr<ProcessRegion> region;
    std::unique_ptr<code::CodePatches> patches;
    std::string early_output[2];
    std::vector<std::string> code_files;  // that it was made of
    std::vector<Identity> identities;     // of these, and of its working folder
  };
  static constexpr std::size_t kMost = 64;  // of hosts with thousands of programs the others are started

  static Identity identity_of(const std::string& path);
  static std::vector<Identity> identities_of(const Zygote& zygote, const LaunchRequest& request);
  Zygote* make(const std::string& key, const LaunchRequest& request);
  // Waits until it can be copied, again. False: it has ended, or does not answer.
  static bool is_ready(Zygote& zygote);
  static void end(Zygote& zygote);

  Passage passage_;
  std::map<std::string, Zygote> zygotes_;  // by all that a start depends on
  std::uint64_t copies_ = 0;
};

}  // namespace verbatim::supervisor
