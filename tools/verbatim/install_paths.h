// Paths of this installation's parts, relative to the executable, so that it can be moved.
#pragma once

#include <string>
#include <vector>

namespace verbatim::cli {

// Files besides the simulator that every run needs; all are in one folder.
inline constexpr const char* kShimParts[] = {"libverbatim_runtime.so", "libibverbs.so.1", "libmlx5.so.1", "ssh", "sshd", "keeper"};

// The folder that contains all of kShimParts; empty if there is none.
std::string shim_directory();

// Folders with device profiles that exist, in the order in which they are searched.
std::vector<std::string> profile_folders();

// Existing folders with topologies, and with labs, in the order in which they are searched.
std::vector<std::string> topology_folders();
std::vector<std::string> lab_folders();

}  // namespace verbatim::cli
