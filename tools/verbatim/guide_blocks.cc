#include "tools/verbatim/guide_blocks.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sim/config/freedom.h"
#include "sim/hca/quirks.h"
#include "tools/verbatim/check_levels.h"
#include "tools/verbatim/exit_codes.h"

namespace verbatim::cli {

namespace {

// A table row: key and texts.
struct Row {
  std::string key;
  std::vector<std::string> texts;
};

struct Table {
  std::vector<std::string> heads;  // of the Markdown table
  std::vector<Row> rows;
};

std::string freedom_text(const std::string& name) {
  constexpr std::string_view kPrefix = "quirk:";
  if (name == "friendly")
    return "the same as a ConnectX: the bytes of a message arrive in ascending order, arming a CQ that is not empty raises an event, "
           "acknowledgements are sent at once, timers are exact";
  if (name == "spec")
    return "anything that the specification allows, drawn from the seed; a program that fails relies on something that is not promised";
  for (const hca::QuirkText& quirk : hca::kQuirks) {
    if (name == std::string(kPrefix) + std::string(quirk.name)) return "spec, and besides: " + std::string(quirk.what);
  }
  return "spec, and all of these deviations";
}

std::string code(std::string_view word) { return "`" + std::string(word) + "`"; }

std::string about(const OptionText& option) {
  return option.default_value.empty() ? option.about : option.about + " (default: " + option.default_value + ")";
}

std::string in_cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string markdown(const Table& table) {
  std::string text = "|", line = "|";
  for (const std::string& head : table.heads) {
    text += " " + head + " |";
    line += "---|";
  }
  text += "\n" + line + "\n";
  for (const Row& row : table.rows) {
    text += "| " + code(in_cell(row.key)) + " |";
    for (const std::string& cell : row.texts) text += " " + in_cell(cell) + " |";
    text += "\n";
  }
  return text;
}

// A paragraph for each row: key and texts.
std::string roff(const Table& table) {
  std::string text;
  for (const Row& row : table.rows) {
    text += ".TP\n.B " + roff_escaped(row.key) + "\n";
    for (const std::string& one : row.texts) {
      if (!one.empty()) text += roff_escaped(one) + (one.ends_with('.') ? "\n" : ".\n");
    }
  }
  return text;
}

Table checks(Markup markup) {
  Table table{.heads = {"check", "mistake", "default", "what to do"}, .rows = {}};
  for (const CheckText& check : check_texts()) {
    Row row{.key = check.name(), .texts = {check.mistake(), std::string(name_of(check.level)), check_remedy(check)}};
    if (markup == Markup::kRoff) row.texts = {check.mistake(), "Default: " + std::string(name_of(check.level)), std::string(check.details)};
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string check_details() {
  std::string text;
  for (const CheckText& check : check_texts()) {
    if (!check.details.empty()) text += "- " + code(check.name()) + ": " + std::string(check.details) + "\n";
  }
  return text;
}

Table exit_codes(Markup markup) {
  Table table{.heads = {"code", "meaning"}, .rows = {}};
  for (const ExitCodeText& row : kExitCodes) {
    table.rows.push_back({.key = std::to_string(row.code), .texts = {std::string(row.summary)}});
    if (markup == Markup::kRoff) table.rows.back().texts.emplace_back(row.details);
  }
  return table;
}

Table freedoms() {
  Table table{.heads = {"freedom", "what the simulator does"}, .rows = {}};
  for (const std::string& name : config::freedom_names()) table.rows.push_back({.key = name, .texts = {freedom_text(name)}});
  return table;
}

Table verbs_below(const std::vector<VerbText>& verbs) {
  Table table{.heads = {"command", "what it does"}, .rows = {}};
  for (const VerbText& verb : verbs) {
    if (verb.below.empty() && !verb.words.empty()) table.rows.push_back({.key = "verbatim " + verb.words, .texts = {verb.sentence}});
  }
  return table;
}

std::string options_of(const VerbText& verb, Markup markup) {
  Table table{.heads = {"option", "meaning"}, .rows = {}};
  std::string paragraphs;
  for (const OptionText& option : verb.options) {
    if (!option.positional.empty() || std::ranges::find(option.long_names, "--help") != option.long_names.end()) continue;
    table.rows.push_back({.key = line_of(option.names(), ", ") + (option.value.empty() ? "" : " " + option.value), .texts = {about(option)}});
    paragraphs += roff_option(option);
  }
  return markup == Markup::kRoff ? paragraphs : markdown(table);
}

}  // namespace

std::string roff_escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\\') result += "\\e";
    else if (letter == '-') result += "\\-";
    else if ((letter == '.' || letter == '\'') && (result.empty() || result.back() == '\n')) result += std::string("\\&") + letter;
    else result += letter;
  }
  return result;
}

std::string roff_option(const OptionText& option) {
  std::string heading;
  if (!option.positional.empty()) {
    heading = "\\fI" + roff_escaped(option.positional) + "\\fR";
  } else {
    std::string value;  // a line may break after each of several words
    for (const char letter : roff_escaped(option.value)) value += letter == '|' ? std::string("|\\:") : std::string(1, letter);
    heading = "\\fB" + roff_escaped(line_of(option.names(), ", ")) + "\\fR" + (value.empty() ? "" : " \\fI" + value + "\\fR");
  }
  return ".TP\n" + heading + "\n" + roff_escaped(about(option)) + ".\n";
}

std::optional<std::string> guide_block(const std::vector<VerbText>& verbs, const std::string& name, Markup markup) {
  const auto shown = [markup](const Table& table) { return markup == Markup::kRoff ? roff(table) : markdown(table); };
  if (name == "checks") return shown(checks(markup));
  if (name == "check details" && markup == Markup::kMarkdown) return check_details();
  if (name == "exit codes") return shown(exit_codes(markup));
  if (name == "freedoms") return shown(freedoms());
  if (name == "verbs") return shown(verbs_below(verbs));
  constexpr std::string_view kOptions = "options ";
  for (const VerbText& verb : verbs) {
    if (!verb.words.empty() && name == std::string(kOptions) + verb.words) return options_of(verb, markup);
  }
  return std::nullopt;
}

}  // namespace verbatim::cli
