#include "tools/verbatim/manual_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

namespace verbatim::cli {

namespace {

// As roff shows it: hyphens that are copied as such, no line that is taken for a request.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\\') result += "\\e";
    else if (letter == '-') result += "\\-";
    else if ((letter == '.' || letter == '\'') && (result.empty() || result.back() == '\n')) result += std::string("\\&") + letter;
    else result += letter;
  }
  return result;
}

// A line may end behind each of several words.
std::string breakable(const std::string& words) {
  std::string text;
  for (const char c : words) {
    text += c;
    if (c == '|') text += "\\:";
  }
  return text;
}

// "TEXT:{never,free}" as what stands for the value: "never|free"; else the name of the type.
std::string value_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{'), end = type.find('}');
  if (begin == type.npos || end == type.npos) return type.substr(0, type.find(':'));
  std::string words = type.substr(begin + 1, end - begin - 1);
  std::ranges::replace(words, ',', '|');
  return words;
}

std::string heading_of(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames()) names += (names.empty() ? "" : ", ") + ("-" + name);
  for (const std::string& name : option.get_lnames()) names += (names.empty() ? "" : ", ") + ("--" + name);
  if (names.empty()) return "\\fI" + escaped(option.get_name(true)) + "\\fR";
  const std::string value = option.get_items_expected_max() > 0 ? value_of(option) : "";
  return "\\fB" + escaped(names) + "\\fR" + (value.empty() ? "" : " \\fI" + breakable(escaped(value)) + "\\fR");
}

std::string described(const CLI::Option& option) {
  std::string text = option.get_description();
  if (!option.get_default_str().empty()) text += " (default: " + option.get_default_str() + ")";
  return escaped(text);
}

// The description's first lines are a sentence; what is indented is how it is called.
void describe(const CLI::App& app, const std::string& words, std::string& sentence, std::vector<std::string>& forms) {
  std::istringstream lines(app.get_description());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ")) forms.push_back(line.substr(2));
    else sentence += (sentence.empty() ? "" : " ") + line;
  }
  if (sentence.ends_with(':')) sentence.pop_back();
  if (!forms.empty()) return;
  std::string form = "verbatim " + words;
  const auto below = app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); });
  if (!below.empty()) form += " COMMAND";
  std::string positionals;
  bool has_options = false;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    if (!option->get_positional()) {
      has_options = true;
      continue;
    }
    std::string name = option->get_name(true);
    std::ranges::transform(name, name.begin(), [](unsigned char letter) { return std::toupper(letter); });
    positionals += option->get_required() ? " " + name : " [" + name + "]";
  }
  forms.push_back(form + (has_options ? " [OPTIONS]" : "") + positionals);
}

ManualPage page_of(const CLI::App& app, const std::string& words) {
  ManualPage page;
  page.name = "verbatim-" + words;
  std::ranges::replace(page.name, ' ', '-');
  std::string title = page.name;
  std::ranges::transform(title, title.begin(), [](unsigned char letter) { return std::toupper(letter); });
  std::string sentence;
  std::vector<std::string> forms;
  describe(app, words, sentence, forms);
  std::string& roff = page.roff;
  roff = fmt::format(".TH {} 1 \"\" \"verbatim {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n", escaped(title), VERBATIM_VERSION,
                     escaped(page.name), escaped(sentence));
  for (const std::string& form : forms) roff += ".nf\n" + escaped(form) + "\n.fi\n";
  roff += ".SH DESCRIPTION\n" + escaped(sentence) + ".\nWhat belongs to it, files, examples and all exit codes stand in\n.BR verbatim (1).\n";
  std::string arguments, options;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    (option->get_positional() ? arguments : options) += ".TP\n" + heading_of(*option) + "\n" + described(*option) + "\n";
  }
  const auto below = app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); });
  if (!below.empty()) roff += ".SH COMMANDS\n";
  for (const CLI::App* one : below) {
    roff += fmt::format(".TP\n.BR {}\\-{} (1)\n{}\n", escaped(page.name), escaped(one->get_name()), escaped(one->get_description()));
  }
  if (!arguments.empty()) roff += ".SH ARGUMENTS\n" + arguments;
  if (!options.empty()) roff += ".SH OPTIONS\n" + options;
  roff += ".SH SEE ALSO\n.BR verbatim (1)\n";
  return page;
}

void gather(const CLI::App& app, const std::string& words, std::vector<ManualPage>& pages) {
  for (const CLI::App* below : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); })) {
    const std::string name = words.empty() ? below->get_name() : words + " " + below->get_name();
    pages.push_back(page_of(*below, name));
    gather(*below, name, pages);
  }
}

}  // namespace

std::vector<ManualPage> manual_pages_of(const CLI::App& app) {
  std::vector<ManualPage> pages;
  gather(app, "", pages);
  return pages;
}

}  // namespace verbatim::cli
