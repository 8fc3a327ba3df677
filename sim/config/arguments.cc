#include "sim/config/arguments.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <vector>

#include "sim/config/spec.h"
#include "sim/core/check.h"

namespace verbatim::config {

namespace {

constexpr std::string_view kHowToWriteRange = "write it like \"1..1000\"";

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text.front() == '-' || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// A part of a word: text, or the name of an argument in braces. "{{name}}" is the text "{name}"; braces
// around anything that is not a name are text as well.
struct Piece {
  std::string_view text;
  bool is_name = false;
};
std::vector<Piece> pieces_of(std::string_view word) {
  std::vector<Piece> pieces;
  std::size_t text_from = 0;
  const auto add_text = [&](std::size_t end) {
    if (end > text_from) pieces.push_back({word.substr(text_from, end - text_from)});
  };
  for (std::size_t at = 0; at < word.size();) {
    const bool is_literal = word.substr(at).starts_with("{{");
    const std::size_t name = at + (is_literal ? 2 : 1);
    const std::size_t close = word[at] == '{' ? word.find('}', name) : word.npos;
    const bool is_whole = close != word.npos && is_argument_name(word.substr(name, close - name)) &&
                          (!is_literal || word.substr(close).starts_with("}}"));
    if (!is_whole) {
      ++at;
      continue;
    }
    add_text(at);
    if (is_literal) pieces.push_back({word.substr(at + 1, close - at)});
    else pieces.push_back({word.substr(name, close - name), true});
    at = text_from = close + (is_literal ? 2 : 1);
  }
  add_text(word.size());
  return pieces;
}

std::string filled(const std::string& word, const std::map<std::string, ArgumentSpec>& arguments) {
  std::string text;
  for (const Piece& piece : pieces_of(word))
    text += piece.is_name ? std::to_string(arguments.at(std::string(piece.text)).value) : std::string(piece.text);
  return text;
}

std::vector<std::string> names_of(const std::map<std::string, std::string>& ranges) {
  std::vector<std::string> names;
  for (const auto& [name, range] : ranges) names.push_back(name);
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

std::string hint_for(const std::string& name, const std::vector<std::string>& names) {
  const std::string near = nearest(name, names);
  return near.empty() ? "its arguments are " + listed(names) : "did you mean \"" + near + "\"?";
}

}  // namespace

std::vector<std::string> names_in_commands(const ScenarioSpec& scenario) {
  constexpr std::string_view kOfBraces[] = {"awk", "gawk", "mawk", "sed", "perl", "find", "xargs"};
  std::set<std::string> names;
  for (const ProgramSpec& program : scenario.programs) {
    if (program.command.empty()) continue;
    const std::string& path = program.command.front();
    if (std::ranges::find(kOfBraces, path.substr(path.rfind('/') + 1)) != std::end(kOfBraces)) continue;
    for (const std::string& word : program.command) {
      for (const Piece& piece : pieces_of(word)) {
        if (piece.is_name) names.insert(std::string(piece.text));
      }
    }
  }
  return {names.begin(), names.end()};
}

bool is_argument_name(std::string_view text) {
  return !text.empty() && text.size() <= 63 && is_letter(text.front()) && std::ranges::all_of(text, [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

std::optional<ArgumentSpec> parse_argument_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == text.npos) return std::nullopt;
  const auto least = number_of(text.substr(0, dots)), most = number_of(text.substr(dots + 2));
  if (!least || !most || *least > *most) return std::nullopt;
  return ArgumentSpec{*least, *most, *most};
}

std::string format_argument_range(const ArgumentSpec& argument) {
  return std::to_string(argument.least) + ".." + std::to_string(argument.most);
}

void resolve_arguments(ScenarioSpec& scenario, const std::map<std::string, std::string>& ranges, const std::string& file,
                       const std::string& pointer, Diagnostics& diagnostics) {
  if (ranges.empty()) return;
  const bool is_file = !pointer.empty();
  const std::size_t before = diagnostics.findings().size();
  const std::vector<std::string> names = names_of(ranges);
  for (const auto& [name, text] : ranges) {
    const std::string at = is_file ? join_pointer(pointer, name) : "";
    const auto argument = parse_argument_range(text);
    if (!is_argument_name(name)) {
      diagnostics.add(file, at, in_quotes(name) + " is not a name for an argument",
                      "a name is a letter, then letters, digits, '_' and '-'");
    } else if (!argument) {
      diagnostics.add(file, at, in_quotes(text) + " is not a range of whole numbers from 0", std::string(kHowToWriteRange));
    } else {
      scenario.arguments[name] = *argument;
    }
  }
  std::set<std::string> used;
  for (const ProgramSpec& program : scenario.programs) {
    for (const std::string& word : program.command) {
      for (const Piece& piece : pieces_of(word)) {
        const std::string name(piece.text);
        if (!piece.is_name || !used.insert(name).second || ranges.contains(name)) continue;
        diagnostics.add(file, is_file ? program.pointer + "/command" : "", "{" + name + "} has no range",
                        hint_for(name, names) + "; {{" + name + "}} is the text {" + name + "}");
      }
    }
  }
  for (const auto& [name, text] : ranges) {
    if (used.contains(name) || !is_argument_name(name)) continue;
    diagnostics.add(file, is_file ? join_pointer(pointer, name) : "", "no command uses {" + name + "}",
                    "write it where the number belongs, or leave the range out");
  }
  if (diagnostics.findings().size() != before) return;
  for (ProgramSpec& program : scenario.programs) program.written_command = program.command;
  set_arguments(scenario, {});
}

void set_argument(ScenarioSpec& scenario, const std::string& text, const std::string& option, Diagnostics& diagnostics) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const auto value = equals == text.npos ? std::nullopt : number_of(std::string_view(text).substr(equals + 1));
  if (!value) {
    diagnostics.add(option, "", in_quotes(text) + " is not of the form NAME=NUMBER", "write it like \"messages=5\"");
    return;
  }
  const auto argument = scenario.arguments.find(name);
  if (argument == scenario.arguments.end()) {
    std::vector<std::string> names;
    for (const auto& [known, spec] : scenario.arguments) names.push_back(known);
    diagnostics.add(option, "", "the run has no argument " + in_quotes(name),
                    names.empty() ? "a scenario names them in \"ranges\", the command line with --range" : hint_for(name, names));
    return;
  }
  if (*value < argument->second.least || *value > argument->second.most) {
    diagnostics.add(option, "", std::to_string(*value) + " is out of range for " + in_quotes(name),
                    "its range is " + format_argument_range(argument->second));
    return;
  }
  set_arguments(scenario, {{name, *value}});
}

void set_arguments(ScenarioSpec& scenario, const ArgumentValues& values) {
  for (const auto& [name, value] : values) {
    ArgumentSpec& argument = scenario.arguments.at(name);
    CHECK(value >= argument.least && value <= argument.most);
    argument.value = value;
  }
  for (ProgramSpec& program : scenario.programs) {
    for (std::size_t i = 0; i < program.written_command.size(); ++i)
      program.command[i] = filled(program.written_command[i], scenario.arguments);
  }
}

ArgumentValues values_of(const ScenarioSpec& scenario) {
  ArgumentValues values;
  for (const auto& [name, argument] : scenario.arguments) values[name] = argument.value;
  return values;
}

}  // namespace verbatim::config
