// Reads the run.json of a run. The file may have been changed, so all values that commands use are checked
// here.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace verbatim::cli {

// nullopt, with a sentence that begins with `name`, if the text is damaged or a key that commands use has a
// wrong kind of value. Keys may be missing.
std::optional<nlohmann::json> parse_run_json(std::string_view text, const std::string& name, std::string* failure);
// Reads a file of at most InputFile::kMostDocument bytes.
std::optional<nlohmann::json> read_run_json(const std::string& path, std::string* failure);

}  // namespace verbatim::cli
