// The machine's files as a run sees them: real_files() of the machine, the machine with a record of all
// answers, or only the answers of an earlier record.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/supervisor/spec/machine_look.h"

namespace verbatim::supervisor {

// Paths are absolute, without "." and "..", without a trailing slash; "" is the root.
class MachineFiles {
 public:
  virtual ~MachineFiles() = default;

  // lstat(2). Returns 0 or an errno.
  virtual int status(const std::string& path, struct stat& status) = 0;
  // readlink(2). Returns 0 or an errno.
  virtual int target(const std::string& path, std::string& target) = 0;
  // Names in a folder, sorted, without "." and "..". Returns 0 or an errno.
  virtual int names(const std::string& path, std::vector<std::string>& names) = 0;
  // Native path of a regular file with the content; it may not exist (unknown(), damage()).
  virtual std::string content(const std::string& path) = 0;
  // Native path to pass to exec for the program that programs see at `path`, which may be a link, and that is
  // stored at `native`. It makes exec use the loader of these files.
  virtual std::string executable(const std::string& path, const std::string& native) {
    return native == path ? path : native;
  }
  // The path that programs see for the native file `native`; "": it is not one of these files.
  virtual std::string name_of(const std::string& native) const { return native.substr(0, 0); }
  // Whether the caller of the run may write to the file.
  virtual bool may_change(const std::string& path) = 0;
  // access(2) as root: returns 0 or an errno. Checks existence and, for X_OK of a file that is no folder,
  // that some execute bit is set. Follows links.
  virtual int access(const std::string& path, int mode);
  // Path without links; components that do not exist stay as they are. `path` may have "." and "..".
  virtual std::string real_path(const std::string& path);
  // Native folders below which files have the names that programs see below "/".
  virtual std::vector<std::string> roots() const { return {}; }
  // The first path for which the record has no answer, and which was reported as missing (ENOENT); empty:
  // none.
  virtual std::string unknown() const { return {}; }
  // A sentence about the first content that Fetch could not provide; empty: none.
  virtual std::string damage() const { return {}; }
  virtual void forget_unknown() {}

  // stat(2): follows links. Returns 0 or an errno.
  int stat(const std::string& path, struct stat& status);
};

// The machine's files, without a record. Shared; has no state.
MachineFiles& real_files();

// Passes requests to `source` and records the answers as programs see them, with root as owner of the
// caller's files.
class RecordedFiles : public MachineFiles {
 public:
  explicit RecordedFiles(MachineFiles& source = real_files()) : source_(&source) {}
  // Uses another source from now on; the record continues.
  void record(MachineFiles& source) { source_ = &source; }

  int status(const std::string& path, struct stat& status) override;
  int target(const std::string& path, std::string& target) override;
  int names(const std::string& path, std::vector<std::string>& names) override;
  std::string content(const std::string& path) override;
  bool may_change(const std::string& path) override;

  std::string executable(const std::string& path, const std::string& native) override {
    return source_->executable(path, native);
  }
  std::string name_of(const std::string& native) const override { return source_->name_of(native); }
  std::vector<std::string> roots() const override { return source_->roots(); }
  std::string unknown() const override { return source_->unknown(); }
  std::string damage() const override { return source_->damage(); }
  void forget_unknown() override { source_->forget_unknown(); }

  const MachineLooks& looks() const { return looks_; }

 private:
  MachineLook& look(const std::string& path);
  MachineFiles* source_;
  MachineLooks looks_;
};

// Adds the answers of `more` to those of `looks`.
void add_looks(const MachineLooks& more, MachineLooks& looks);

// Answers from a record; contents are below `folder`/root, which has the shape of the machine's root.
class FilesOfRecord : public MachineFiles {
 public:
  // `folder` exists, is absolute and without links; programs for exec are created in `folder`/exec. `fetch`,
  // if not empty, stores the content of a path below `folder`/root when it is first needed; it returns "" or
  // a sentence.
  using Fetch = std::function<std::string(const std::string& path)>;
  FilesOfRecord(MachineLooks looks, std::string folder, Fetch fetch = {});

  int status(const std::string& path, struct stat& status) override;
  int target(const std::string& path, std::string& target) override;
  int names(const std::string& path, std::vector<std::string>& names) override;
  std::string content(const std::string& path) override;
  std::string executable(const std::string& path, const std::string& native) override;
  std::string name_of(const std::string& native) const override;
  bool may_change(const std::string& path) override;
  std::vector<std::string> roots() const override { return {folder_ + "/root", folder_ + "/exec"}; }
  std::string unknown() const override { return unknown_; }
  std::string damage() const override { return damage_; }
  void forget_unknown() override { unknown_.clear(); }

 private:
  const MachineLook* find(const std::string& path);  // nullptr: the file is missing, or unknown
  void miss(const std::string& path) {
    if (unknown_.empty()) unknown_ = path.empty() ? "/" : path;
  }
  MachineLooks looks_;
  std::string folder_;
  Fetch fetch_;
  std::string unknown_, damage_;
  std::map<std::string, std::string> made_;  // programs for exec that the run has made: native path and name
};

// Files of `root`, and some of the machine: those at and below `shown`, canonical paths. Their parent folders
// exist and list them.
class FilesOverRoot : public MachineFiles {
 public:
  // Both outlive the object.
  FilesOverRoot(MachineFiles& root, MachineFiles& machine, std::vector<std::string> shown)
      : root_(root), machine_(machine), shown_(std::move(shown)) {}

  int status(const std::string& path, struct stat& status) override;
  int target(const std::string& path, std::string& target) override { return of(path).target(path, target); }
  int names(const std::string& path, std::vector<std::string>& names) override;
  std::string content(const std::string& path) override { return of(path).content(path); }
  std::string executable(const std::string& path, const std::string& native) override {
    return root_.executable(path, native);
  }
  std::string name_of(const std::string& native) const override { return root_.name_of(native); }
  bool may_change(const std::string& path) override { return of(path).may_change(path); }
  std::vector<std::string> roots() const override { return root_.roots(); }
  std::string unknown() const override { return root_.unknown(); }
  std::string damage() const override { return root_.damage(); }
  void forget_unknown() override { root_.forget_unknown(); }

 private:
  bool is_shown(const std::string& path) const;
  MachineFiles& of(const std::string& path) { return is_shown(path) ? machine_ : root_; }
  // The name in the folder `path` that leads to `shown`; empty: none does.
  static std::string next_name(const std::string& path, const std::string& shown);

  MachineFiles& root_;
  MachineFiles& machine_;
  std::vector<std::string> shown_;
};

}  // namespace verbatim::supervisor
