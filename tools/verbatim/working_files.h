// State of the folders in which programs worked, for replay files and processes of a search: a list of [path,
// kind, size, time of modification in ns since 1970]. A fifth value is the digest of an opened file's
// content, or "listed" for a folder whose names were read.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/supervisor/spec/folder_snapshot.h"

namespace verbatim::cli {

// At most 10,000 entries; further ones are left out.
nlohmann::ordered_json to_json(const supervisor::FolderSnapshot& snapshot);
// Throws nlohmann::json::exception if `json` is not in the form of to_json().
supervisor::FolderSnapshot snapshot_of(const nlohmann::ordered_json& json);

// Sets the digests of opened files.
void add_digests(supervisor::FolderSnapshot& snapshot);
// Changes since the snapshot, a sentence each, at most ten and a count of the others: files that are gone, have another size or,
// where the digest is known, other content, or are new in a folder whose names were read.
std::vector<std::string> changes_since(const supervisor::FolderSnapshot& snapshot);

}  // namespace verbatim::cli
