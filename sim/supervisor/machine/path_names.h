// Paths as text; but for canonical_folder() nothing is looked up.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace verbatim::supervisor {

// Whether `path` is `folder` or below it; absolute paths without a slash at their end.
bool is_below(const std::string& path, std::string_view folder);
// The names between the slashes, without empty ones.
std::vector<std::string> parts_of(const std::string& path);
// Of an absolute path without a slash at its end; "" is the root, whose parent it is itself.
std::string parent_of(const std::string& path);
// The path without "//", "/./" and "/../" and without a slash at its end.
std::string normal_path(const std::string& path);
// Where an absolute path leads to on the machine: without links and "..". What of it is not there stays as it is; "": it cannot
// be told.
std::string canonical_folder(const std::string& path);

}  // namespace verbatim::supervisor
