// Operations on paths as text; only canonical_folder() accesses the file system.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace verbatim::supervisor {

// Whether `path` is `folder` or below it. Absolute paths without a trailing slash.
bool is_below(const std::string& path, std::string_view folder);
// Path components, without empty ones.
std::vector<std::string> parts_of(const std::string& path);
// Parent of an absolute path without a trailing slash; "" is the root and its own parent.
std::string parent_of(const std::string& path);
// Path without "//", "/./", "/../" and a trailing slash.
std::string normal_path(const std::string& path);
// Native path without links and "..". Components that do not exist stay as they are; "": an error occurred.
std::string canonical_folder(const std::string& path);

}  // namespace verbatim::supervisor
