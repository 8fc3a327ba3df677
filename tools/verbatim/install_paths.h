// Where the parts of this installation are, found from where the executable is, so that it can be moved.
#pragma once

#include <string>
#include <vector>

namespace verbatim::cli {

// What every run needs besides the simulator itself; all of it lies in one folder.
inline constexpr const char* kShimParts[] = {"libverbatim_runtime.so", "libibverbs.so.1", "libmlx5.so.1", "ssh", "sshd", "keeper"};

// The folder with kShimParts; empty when there is none that has them all.
std::string shim_directory();

// Folders with device profiles that exist, in the order in which they are searched.
std::vector<std::string> profile_folders();

// Folders with topologies, and with labs, that exist; likewise.
std::vector<std::string> topology_folders();
std::vector<std::string> lab_folders();

}  // namespace verbatim::cli
