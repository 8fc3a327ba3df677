// Paths in bundles: which ones are accepted, and which ones a person may not want to mail.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/supervisor/spec/machine_look.h"

namespace verbatim::bundle {

// One component of a path: 1 to 255 bytes, neither "." nor "..", without '/' and NUL.
bool is_name(std::string_view name);
// Components joined by '/', without a leading one, together at most 4095 bytes.
bool is_relative_path(std::string_view path);
// Path of a look: "" is the root folder, else '/' and a relative path.
bool is_look_path(std::string_view path);

// Control characters and backslashes as \xNN, for messages.
std::string printable(std::string_view path);

// One sentence for each file with content whose path lies below a home folder or whose name looks like that
// of a secret (keys, passwords, tokens). Begins with the path.
std::vector<std::string> suspicious_paths(const supervisor::MachineLooks& looks);

}  // namespace verbatim::bundle
