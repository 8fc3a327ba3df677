// Text to JSON tree, stricter than the parser it rests on: a repeated key, bytes after the document and deep nesting are refused,
// a syntax error has a line and a column.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "sim/config/diagnostics.h"

namespace verbatim::config {

using Json = nlohmann::ordered_json;  // keys in the order of the file, so findings are too

// Nothing when the text cannot be used; the findings say why. `file` is what they are attributed to.
std::optional<Json> parse_json(std::string_view text, std::string_view file, Diagnostics& diagnostics);

// The same without the tree, for callers that want another kind of tree: whether the text can be used.
bool check_json(std::string_view text, std::string_view file, Diagnostics& diagnostics);

// The same for a file. Files above InputFile::kMostDocument are refused.
std::optional<Json> read_json(const std::string& path, Diagnostics& diagnostics);

// Whole content of a regular file; on failure nothing and a finding.
std::optional<std::string> read_file(const std::string& path, Diagnostics& diagnostics);

}  // namespace verbatim::config
