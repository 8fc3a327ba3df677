// Where the parts of this installation are, found from where the executable is, so that it can be moved.
#pragma once

#include <string>
#include <vector>

namespace verbatim::cli {

// Folder with libverbatim_runtime.so and its companions; empty when there is none.
std::string shim_directory();

// Folders with device profiles that exist, in the order in which they are searched.
std::vector<std::string> profile_folders();

}  // namespace verbatim::cli
