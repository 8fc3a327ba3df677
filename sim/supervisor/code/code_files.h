// What was found in the files whose code programs run; each file is searched once in a run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/supervisor/code/access_search.h"
#include "sim/supervisor/code/code_search.h"
#include "sim/supervisor/code/code_table.h"

namespace verbatim::code {

struct FileCode {
  std::string path;     // as it was opened, or what the link that was opened leads to
  SearchResult found;   // addresses are those of the file
};

class CodeFiles {
 public:
  // What looking for a file's system calls costs is what this many traps cost.
  static constexpr std::uint64_t kTrapsWorthSearch = 1024;

  CodeFiles();
  ~CodeFiles();

  // What is in it need not be searched. Called before all else, if at all: it saves time and changes no result.
  void use_table(CodeTable table) { table_ = std::move(table); }

  // Of the file that `path` leads to (a link in /proc/PID/fd will do). nullptr: it cannot be read or is no ELF file.
  const FileCode* of(const std::string& path);
  // The system calls of `file` that can be replaced, once they have trapped often enough in the run; `traps`: how often one has,
  // since that was told. nullptr: not yet.
  const std::vector<CallSite>* calls_of(const FileCode& file, std::uint64_t traps);
  // Where `file` touches memory that others may touch; searched for when they are first asked for.
  const std::vector<AccessSite>& accesses_of(const FileCode& file);
  // Searches these on a thread of its own, on any core but `busy_core`; of() does what is not begun yet, and waits for what
  // is. Called once, before of(): it saves time where a second core is free, and changes no result.
  void search_ahead(const std::vector<std::string>& paths, int busy_core);
  // Searches it now, for runs that will ask for it.
  void prepare(const std::string& path) { find(path); }
  // Another run begins: what was found stays, what was asked for and how often calls have trapped is forgotten.
  void begin_run();
  // What of() was asked for in the run, which is forgotten; and is remembered again.
  std::set<std::string> take_asked() { return std::exchange(asked_for_, {}); }
  void note_asked(const std::set<std::string>& paths) { asked_for_.insert(paths.begin(), paths.end()); }
  // Of all files that of() was asked for in the run and that hold code, sorted.
  std::vector<std::string> paths() const;

 private:
  // Device, inode, size, modification time: another file, or the same one changed, is another key.
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t, std::int64_t>;
  using Found = std::optional<SearchResult>;  // nullopt: no ELF file
  class File;
  struct Ahead;
  struct Calls {
    std::uint64_t traps = 0;
    std::optional<std::vector<CallSite>> found;
  };
  const FileCode* find(const std::string& path);
  template <class Result>
  Result look_again(const FileCode& file, Result (*search)(const ElfImage&, std::span<const std::byte>)) const;

  CodeTable table_;
  std::map<Key, std::unique_ptr<FileCode>> files_;
  std::set<std::string> asked_for_;
  std::map<const FileCode*, Calls> calls_;  // their order means nothing
  std::map<const FileCode*, std::vector<AccessSite>> accesses_;
  std::map<Key, std::shared_ptr<Ahead>> ahead_;
  std::jthread searcher_;
};

}  // namespace verbatim::code
