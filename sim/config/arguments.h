// Numeric arguments of a run's commands. "{messages}" in a command, declared with "messages": "1..1000", is
// replaced by a number. A plain run uses the greatest value of each range; the shrinker tries smaller ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/diagnostics.h"

namespace verbatim::config {

struct ScenarioSpec;

struct ArgumentSpec {
  std::int64_t least = 0, most = 0;  // 0 <= least <= most
  std::int64_t value = 0;            // of this run
};
using ArgumentValues = std::map<std::string, std::int64_t>;  // by name

// Whether `text` is a letter followed by letters, digits, '_' or '-', at most 63 characters in all.
bool is_argument_name(std::string_view text);
// Names in braces in commands, as "n" in "{n}", in ascending order. Commands of programs whose own language has braces,
// such as awk, are left out.
std::vector<std::string> names_in_commands(const ScenarioSpec& scenario);
// "1..1000"; nullopt if `text` is not of this form.
std::optional<ArgumentSpec> parse_argument_range(std::string_view text);
// "1..1000"
std::string format_argument_range(const ArgumentSpec& argument);

// Resolves `ranges`, given by name in `file` at `pointer` (empty on the command line). Errors in the ranges
// and in the names that commands use are findings. Without errors each argument gets its greatest value, and
// the values are put into the commands. Without ranges commands are left as they are written.
void resolve_arguments(ScenarioSpec& scenario, const std::map<std::string, std::string>& ranges, const std::string& file,
                       const std::string& pointer, Diagnostics& diagnostics);

// `text` is NAME=NUMBER from the command line; errors are findings for `option`.
void set_argument(ScenarioSpec& scenario, const std::string& text, const std::string& option, Diagnostics& diagnostics);

// Sets the named arguments, whose values must be in range, and puts them into the commands.
void set_arguments(ScenarioSpec& scenario, const ArgumentValues& values);
ArgumentValues values_of(const ScenarioSpec& scenario);

}  // namespace verbatim::config
