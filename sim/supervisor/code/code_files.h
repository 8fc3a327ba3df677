// Results of searching files with code for instructions to replace. Each file is searched once.
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
  std::string path;     // as it was opened, or the target of the link that was opened
  SearchResult found;   // addresses are those of the file, before relocation
};

// Reads `length` bytes at `offset` of the file that is at the path now. Empty: it is shorter or cannot be
// read.
std::vector<std::byte> read_part(const FileCode& file, std::uint64_t offset, std::uint64_t length);

class CodeFiles {
 public:
  // Searching a file's system calls costs as much as this many traps.
  static constexpr std::uint64_t kTrapsWorthSearch = 1024;

  CodeFiles();
  ~CodeFiles();

  // Files in the table need not be searched. Called first, if at all. Saves time and changes no result.
  void use_table(CodeTable table) { table_ = std::move(table); }

  // Result for the file at `path`, which may be a link in /proc/PID/fd. nullptr: the file cannot be read or
  // is no ELF file.
  const FileCode* of(const std::string& path);
  // Replaceable system calls of `file`, once its calls have trapped kTrapsWorthSearch times in the run;
  // nullptr: not yet. `traps`: number of traps since the last report.
  const std::vector<CallSite>* calls_of(const FileCode& file, std::uint64_t traps);
  // Instructions of `file` that access memory which others may access; searched at the first request.
  const std::vector<AccessSite>& accesses_of(const FileCode& file);
  // Starts a thread that searches these files, on any core but `busy_core`. of() searches a file that the
  // thread has not begun, and waits for one that it has. Called at most once, before of(). Saves time if a
  // second core is free, and changes no result.
  void search_ahead(const std::vector<std::string>& paths, int busy_core);
  // Searches the file now, for later runs.
  void prepare(const std::string& path) { find(path); }
  // Begins another run: keeps results, and forgets which files were requested and how often
  // calls have trapped.
  void begin_run();
  // take_asked() returns the files requested from of() in the run and forgets them;
  // note_asked() adds to them.
  std::set<std::string> take_asked() { return std::exchange(asked_for_, {}); }
  void note_asked(const std::set<std::string>& paths) { asked_for_.insert(paths.begin(), paths.end()); }
  // Paths of all files requested from of() in the run that contain code, sorted.
  std::vector<std::string> paths() const;

 private:
  // Device, inode, size, mtime: differs for another or a changed file.
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
  std::map<const FileCode*, Calls> calls_;  // the order of its entries does not affect results
  std::map<const FileCode*, std::vector<AccessSite>> accesses_;
  std::map<Key, std::shared_ptr<Ahead>> ahead_;
  std::jthread searcher_;
};

}  // namespace verbatim::code
