#include "tools/verbatim/working_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/observe/folder_content.h"
#include "sim/supervisor/machine/folder_views.h"
#include "sim/supervisor/machine/run_folder.h"
#include "tools/verbatim/whole_number.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using supervisor::FolderSnapshot;

constexpr std::size_t kMostEntries = 10'000;
constexpr std::size_t kMostSentences = 10;
constexpr const char* kListed = "listed";

}  // namespace

Json to_json(const FolderSnapshot& snapshot) {
  Json entries = Json::array();
  for (const FolderSnapshot::Entry& entry : snapshot.entries) {
    if (entries.size() == kMostEntries) break;
    Json row = {entry.path, entry.kind, entry.size, entry.modified_ns};
    if (!entry.digest.empty()) row.push_back(entry.digest);
    if (entry.is_listed) row.push_back(kListed);
    entries.push_back(std::move(row));
  }
  return entries;
}

FolderSnapshot snapshot_of(const Json& json) {
  FolderSnapshot snapshot;
  for (const Json& row : json) {
    const std::string last = row.size() > 4 ? row.at(4).get<std::string>() : "";
    const bool is_listed = last == kListed;
    const auto size = whole_number<std::int64_t>(row.at(2)), modified_ns = whole_number<std::int64_t>(row.at(3));
    snapshot.entries.push_back({row.at(0), row.at(1), size, modified_ns, is_listed ? "" : last, is_listed});
  }
  return snapshot;
}

void add_digests(FolderSnapshot& snapshot) {
  for (FolderSnapshot::Entry& entry : snapshot.entries) {
    if (std::ranges::binary_search(snapshot.opened, entry.path)) entry.digest = observe::content_digest(entry.path);
  }
}

std::vector<std::string> changes_since(const FolderSnapshot& snapshot) {
  std::vector<std::string> changes;
  std::set<std::string> paths, folders;
  for (const FolderSnapshot::Entry& entry : snapshot.entries) {
    paths.insert(entry.path);
    if (entry.is_listed) folders.insert(entry.path);
    struct stat status;
    if (lstat(entry.path.c_str(), &status) != 0)
      changes.push_back(entry.path + " is not there any more");
    else if (supervisor::kind_of(status.st_mode) != entry.kind)
      changes.push_back(entry.path + " was a " + entry.kind + ", and is a " + supervisor::kind_of(status.st_mode));
    else if (entry.kind == "file" && status.st_size != entry.size)
      changes.push_back(entry.path + " had " + std::to_string(entry.size) + " bytes, and has " + std::to_string(status.st_size));
    else if (!entry.digest.empty() && observe::content_digest(entry.path) != entry.digest)
      changes.push_back(entry.path + " has other content");
  }
  for (const std::string& folder : folders) {
    if (snapshot.entries.size() >= kMostEntries) continue;
    std::error_code error;
    std::vector<std::string> names;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      const std::string path = at->path().string();
      if (!paths.contains(path) && !supervisor::is_run_folder(at->path().filename().string())) names.push_back(path);
    }
    std::ranges::sort(names);
    for (const std::string& name : names) changes.push_back(name + " is new");
  }
  if (changes.size() > kMostSentences) {
    const std::size_t more = changes.size() - kMostSentences;
    changes.resize(kMostSentences);
    changes.push_back(std::to_string(more) + " more files have changed in the folders that programs worked in");
  }
  return changes;
}

}  // namespace verbatim::cli
