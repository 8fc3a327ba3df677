#include "sim/supervisor/machine/library_versions.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <vector>

#include "sim/supervisor/machine/needed_libraries.h"

namespace verbatim::supervisor {

namespace {

constexpr std::array<const char*, 2> kReplaced = {"libibverbs.so.1", "libmlx5.so.1"};
constexpr const char* kSystemFolders =
    "/usr/local/lib:/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib";
constexpr std::size_t kMostFiles = 4096;  // looked at

// $ORIGIN is the folder of the file that has the run path.
std::string with_origin(std::string folders, const std::string& file) {
  const std::string origin = file.substr(0, file.rfind('/'));
  for (const std::string word : {"$ORIGIN", "${ORIGIN}"}) {
    for (std::size_t at = folders.find(word); at != std::string::npos; at = folders.find(word, at + origin.size()))
      folders.replace(at, word.size(), origin);
  }
  return folders;
}

// Path of the library in one of the folders, which ':' or ';' separate; empty: in none.
std::string found_in(const std::string& folders, const std::string& library) {
  for (std::size_t start = 0; start < folders.size();) {
    const std::size_t end = std::min(folders.find_first_of(":;", start), folders.size());
    const std::string path = folders.substr(start, end - start) + "/" + library;
    if (end > start && access(path.c_str(), R_OK) == 0) return path;
    start = end + 1;
  }
  return "";
}

}  // namespace

std::string missing_version(const std::string& program, const std::map<std::string, std::string>& environment,
                            const std::string& shim_directory) {
  const auto is_replaced = [](const std::string& name) { return std::ranges::find(kReplaced, name) != kReplaced.end(); };
  const auto given = environment.find("LD_LIBRARY_PATH");
  const std::string given_folders = given == environment.end() ? "" : given->second;
  std::map<std::string, std::vector<std::string>> provided;  // by library, when it is needed first
  std::set<std::string> seen;
  std::deque<std::string> files = {program};
  for (std::size_t looked_at = 0; !files.empty() && looked_at < kMostFiles; ++looked_at) {
    const std::string file = files.front();
    files.pop_front();
    const DynamicNames names = dynamic_names_of(file);
    for (const NeededVersion& needed : names.needed_versions) {
      if (!is_replaced(needed.soname)) continue;
      const auto [ours, is_first] = provided.try_emplace(needed.soname);
      if (is_first) ours->second = dynamic_names_of(shim_directory + "/" + needed.soname).defined_versions;
      if (std::ranges::find(ours->second, needed.version) != ours->second.end()) continue;
      return file + " needs " + needed.version + " of " + needed.soname +
             ", which the simulator's library lacks; build it with an earlier rdma-core";
    }
    const std::string folders = given_folders + ":" + with_origin(names.run_path, file) + ":" + kSystemFolders;
    for (const std::string& library : names.needed) {
      if (is_replaced(library) || !seen.insert(library).second) continue;
      if (const std::string path = library.find('/') == std::string::npos ? found_in(folders, library) : library; !path.empty())
        files.push_back(path);
    }
  }
  return "";
}

}  // namespace verbatim::supervisor
