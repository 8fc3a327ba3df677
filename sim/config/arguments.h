// Numbers in the commands of a run that may be chosen within a range: {messages} in a command, with "messages" as "1..1000",
// stands for the number of messages. A plain run takes the greatest; who looks for the smallest run that still fails, less.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sim/config/diagnostics.h"

namespace verbatim::config {

struct ScenarioSpec;

struct ArgumentSpec {
  std::int64_t least = 0, most = 0;  // 0 <= least <= most
  std::int64_t value = 0;            // of this run
};
using ArgumentValues = std::map<std::string, std::int64_t>;  // by name

// A letter, then letters, digits, '_' and '-', at most 63 in all.
bool is_argument_name(std::string_view text);
// "1..1000". nullopt: it is none.
std::optional<ArgumentSpec> parse_argument_range(std::string_view text);
// "1..1000"
std::string format_argument_range(const ArgumentSpec& argument);

// From `ranges`, by name as written in `file` at `pointer` (or on the command line, where that is empty): what is wrong with
// them, and with the names in the commands, is a finding; else each argument gets its greatest value, and the commands their
// words. Without ranges a command is taken as it stands.
void resolve_arguments(ScenarioSpec& scenario, const std::map<std::string, std::string>& ranges, const std::string& file,
                       const std::string& pointer, Diagnostics& diagnostics);

// `text` is NAME=NUMBER of the command line; what is wrong with it is a finding for `option`.
void set_argument(ScenarioSpec& scenario, const std::string& text, const std::string& option, Diagnostics& diagnostics);

// Gives the named arguments these values, which are within their ranges, and the commands their words.
void set_arguments(ScenarioSpec& scenario, const ArgumentValues& values);
ArgumentValues values_of(const ScenarioSpec& scenario);

}  // namespace verbatim::config
