#include "tools/verbatim/usage_error.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "sim/config/diagnostics.h"

namespace verbatim::cli {

namespace {

const VerbText* find_verb(const std::vector<VerbText>& verbs, const std::string& name) {
  const auto found = std::ranges::find(verbs, name, &VerbText::words);
  return found == verbs.end() ? nullptr : &*found;
}

// The verb of the command line; the program itself if there is none.
const VerbText& verb_of(const std::vector<VerbText>& verbs, const std::vector<std::string>& words) {
  const VerbText* const first = words.empty() ? nullptr : find_verb(verbs, words[0]);
  if (first == nullptr) return verbs.front();
  const VerbText* const second = words.size() < 2 ? nullptr : find_verb(verbs, words[0] + " " + words[1]);
  return second != nullptr ? *second : *first;
}

std::string command_of(const VerbText& verb) {
  return verb.words.empty() ? "verbatim" : "verbatim " + verb.words;
}

// The first word that looks like an option and is none of the verb's; "-5" and "-" are values.
std::optional<std::string> unknown_option(const VerbText& verb, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word.size() < 2 || word[0] != '-' || std::isdigit(static_cast<unsigned char>(word[1])) != 0) continue;
    const std::string name = word.substr(0, word.find('='));
    const bool is_known = std::ranges::any_of(verb.options, [&](const OptionText& option) {
      const std::vector<std::string> names = option.names();
      return std::ranges::find(names, name) != names.end();
    });
    if (!is_known) return name;
  }
  return std::nullopt;
}

std::string sentence_of_option(const VerbText& verb, const std::string& name) {
  std::vector<std::string> names;
  for (const OptionText& option : verb.options) {
    for (const std::string& known : option.long_names) names.push_back(known.substr(2));
  }
  const std::string near = config::nearest(
      name.substr(name.find_first_not_of('-') == name.npos ? 0 : name.find_first_not_of('-')), names);
  return "`" + command_of(verb) + "` has no option " + name + "; " +
         (near.empty() ? "`" + command_of(verb) + " --help` lists them" : "did you mean --" + near + "?");
}

std::string sentence_of_missing(const VerbText& verb, const std::vector<std::string>& words) {
  if (!verb.below.empty()) {
    const std::size_t place = verb.words.empty() ? 0 : 1;
    const std::string near = words.size() > place ? config::nearest(words[place], verb.below) : "";
    std::string text =
        "write `" + command_of(verb) + " COMMAND`; the commands are " + line_of(verb.below, ", ");
    if (!near.empty()) text += "; did you mean " + near + "?";
    return text + "; `" + command_of(verb) + " --help` says what they do";
  }
  std::string text;
  for (const OptionText& option : verb.options) {
    if (!option.is_required) continue;
    std::string name = option.positional;
    std::ranges::transform(name, name.begin(), [](unsigned char letter) { return std::toupper(letter); });
    if (name.empty())
      name = option.long_names.empty()
                 ? ""
                 : option.long_names.front() + (option.value.empty() ? "" : " " + option.value);
    text += (text.empty() ? "" : ", and ") + name + ", " + option.about;
  }
  return "`" + command_of(verb) + "` needs " + text;
}

}  // namespace

std::string usage_sentence(const std::vector<VerbText>& verbs, const std::vector<std::string>& words,
                           UsageError error, const std::string& text) {
  const VerbText& verb = verb_of(verbs, words);
  if (error != UsageError::kOther) {
    if (const auto name = unknown_option(verb, words)) return sentence_of_option(verb, *name);
  }
  const std::string more = "; see `" + command_of(verb) + " --help`";
  if (error == UsageError::kMissing)
    return sentence_of_missing(verb, words) + (verb.below.empty() ? more : "");
  if (error == UsageError::kUnexpected) {
    const std::size_t colon = text.find(": ");
    return "`" + command_of(verb) + "` takes no argument " +
           config::in_quotes(colon == text.npos ? text : text.substr(colon + 2)) + more;
  }
  return text + more;
}

}  // namespace verbatim::cli
