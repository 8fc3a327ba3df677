// A run's run.json, read again. The file may have been changed since: what commands use of it is checked here, once, so that they
// can rely on it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace verbatim::cli {

// nullopt, and a sentence that begins with `name`: it is damaged, or has a key that commands use with a value of another kind
// than a run writes. Keys may be missing.
std::optional<nlohmann::json> parse_run_json(std::string_view text, const std::string& name, std::string* failure);
// The same for a file; InputFile::kMostDocument limits it.
std::optional<nlohmann::json> read_run_json(const std::string& path, std::string* failure);

}  // namespace verbatim::cli
