// The end of the process by SIGINT, SIGTERM or SIGHUP (sim/core/interruption.h): temporary files go, a sentence says so, the exit
// code is kInterrupted. It comes at once where a verb only computes; verbs that wait for others end these first, and are ended so
// when that takes too long.
#pragma once

#include <optional>
#include <string>

namespace verbatim::cli {

// Every verb calls it at its start.
void end_when_interrupted();
// In a process that was forked: its end is silent, and what its parent has made stays.
void end_silently_when_interrupted();

// `action` is taken before the end. It is called in a signal handler, so it makes system calls and nothing else.
void at_interrupted_end(void (*action)());

// A file that is removed when the process is interrupted as long as *this is, or a folder that is there with all that is in it.
class TemporaryPath {
 public:
  explicit TemporaryPath(std::string path);
  ~TemporaryPath();
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;

 private:
  const std::string path_;
};

// A new folder that goes with *this, or with the process when that is interrupted.
class TemporaryFolder {
 public:
  // `pattern` ends in XXXXXX. On failure path() is empty, and errno says why.
  explicit TemporaryFolder(std::string pattern);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::optional<TemporaryPath> removed_;
};

}  // namespace verbatim::cli
