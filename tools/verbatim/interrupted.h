// Ends the process on SIGINT, SIGTERM or SIGHUP (sim/core/interruption.h): temporary files are removed, a
// message is printed, the exit code is kInterrupted, or kLimit if a wall limit (wall_limit.h) sent the signal.
// Verbs that only compute end at once. Verbs that wait for other processes end these first, and end in this
// manner if that takes too long.
#pragma once

#include <optional>
#include <string>

namespace verbatim::cli {

// Called by every verb at its start.
void end_when_interrupted();
// Called in a forked process: it ends silently and leaves its parent's temporary files.
void end_silently_when_interrupted();

// `action` runs before the end, in a signal handler, so it may only make system calls.
void at_interrupted_end(void (*action)());

// A file, or a folder with its content, that is removed if the process is interrupted while *this exists.
class TemporaryPath {
 public:
  explicit TemporaryPath(std::string path);
  ~TemporaryPath();
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;

 private:
  const std::string path_;
};

// A new folder that is removed with *this, or when the process is interrupted.
class TemporaryFolder {
 public:
  // `pattern` ends in XXXXXX. On failure path() is empty and errno is set.
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
