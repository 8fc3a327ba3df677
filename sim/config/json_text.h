// Parses text to a JSON tree, more strictly than the parser underneath: repeated keys, bytes after the
// document and deep nesting are refused, and a syntax error has line and column.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "sim/config/diagnostics.h"

namespace verbatim::config {

using Json = nlohmann::ordered_json;  // keeps the keys in the file's order, so findings are in that order

// Returns nullopt, with findings for `file`, if the text cannot be used.
std::optional<Json> parse_json(std::string_view text, std::string_view file, Diagnostics& diagnostics);

// The same checks without a tree, for callers that build another kind of tree. Returns whether the text can
// be used.
bool check_json(std::string_view text, std::string_view file, Diagnostics& diagnostics);

// Reads and parses a file. Files above InputFile::kMostDocument are refused.
std::optional<Json> read_json(const std::string& path, Diagnostics& diagnostics);

// The whole content of a regular file; nullopt, with a finding, on failure.
std::optional<std::string> read_file(const std::string& path, Diagnostics& diagnostics);

}  // namespace verbatim::config
