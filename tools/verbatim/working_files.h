// The state of the folders that programs worked in, as replay files and the processes of a search keep it: a list of
// [path, kind, size, time of modification in ns since 1970]. A fifth value is the digest of the content of an opened file, or
// "listed" for a folder whose names were read.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/supervisor/spec/folder_snapshot.h"

namespace verbatim::cli {

// At most 10,000 entries; of larger folders the rest is left out.
nlohmann::ordered_json to_json(const supervisor::FolderSnapshot& snapshot);
// Throws nlohmann::json::exception where `json` is not what to_json() gives.
supervisor::FolderSnapshot snapshot_of(const nlohmann::ordered_json& json);

// Gives the entries of opened files their digests.
void add_digests(supervisor::FolderSnapshot& snapshot);
// Changes since the snapshot, a sentence each, at most ten and a count of the others: files that are gone, have another size or,
// where the digest is known, other content, or are new in a folder whose names were read.
std::vector<std::string> changes_since(const supervisor::FolderSnapshot& snapshot);

}  // namespace verbatim::cli
