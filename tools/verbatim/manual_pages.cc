#include "tools/verbatim/manual_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <sstream>

#include "tools/verbatim/guide_blocks.h"

namespace verbatim::cli {

namespace {

// Hand-written parts of one page.
struct HandWritten {
  std::string description, sections;
  std::map<std::string, std::string> options;  // by name, "--seeds"
};

HandWritten read_hand_written(const std::string& file, const std::vector<VerbText>& verbs, std::string& failure) {
  constexpr std::string_view kOption = ".\\\" option: ", kSections = ".\\\" sections", kGenerated = ".\\\" generated: ";
  HandWritten parts;
  std::string* part = &parts.description;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kOption)) {
      part = &parts.options[line.substr(kOption.size())];
    } else if (line.starts_with(kSections)) {
      part = &parts.sections;
    } else if (line.starts_with(kGenerated)) {
      const auto block = guide_block(verbs, line.substr(kGenerated.size()), Markup::kRoff);
      if (!block) failure = file + ": there is no block " + line.substr(kGenerated.size());
      *part += block.value_or("");
    } else {
      *part += line + "\n";
    }
  }
  return parts;
}

ManualPage page_of(const VerbText& verb, const std::vector<VerbText>& verbs, const std::string& folder, std::string& failure) {
  ManualPage page;
  std::string name = verb.words;
  std::ranges::replace(name, ' ', '-');
  page.name = "verbatim-" + name;
  const std::string file = folder + "/" + name + ".roff";
  HandWritten hand_written = read_hand_written(file, verbs, failure);
  std::string title = page.name;
  std::ranges::transform(title, title.begin(), [](unsigned char letter) { return std::toupper(letter); });
  std::string& roff = page.roff;
  roff = fmt::format(".TH {} 1 \"\" \"verbatim {}\" \"User Commands\"\n.ad l\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n", roff_escaped(title), VERBATIM_VERSION,
                     roff_escaped(page.name), roff_escaped(verb.sentence));
  for (const std::string& form : verb.forms) roff += ".nf\n" + roff_escaped(form) + "\n.fi\n";
  roff += ".SH DESCRIPTION\n" + (hand_written.description.empty() ? roff_escaped(verb.sentence) + ".\n" : hand_written.description);
  std::string arguments, options;
  for (const OptionText& option : verb.options) {
    std::string& text = option.positional.empty() ? options : arguments;
    text += roff_option(option);
    for (const std::string& one : option.long_names) {
      const auto more = hand_written.options.extract(one);
      if (more) text += more.mapped();
    }
  }
  for (const auto& [option, text] : hand_written.options) failure = file + ": verbatim " + verb.words + " has no option " + option;
  if (!verb.below.empty()) roff += ".SH COMMANDS\n";
  for (const std::string& below : verb.below) {
    const auto one = std::ranges::find(verbs, verb.words + " " + below, &VerbText::words);
    roff += fmt::format(".TP\n.BR {}\\-{} (1)\n{}.\n", roff_escaped(page.name), roff_escaped(below), roff_escaped(one->sentence));
  }
  if (!arguments.empty()) roff += ".SH ARGUMENTS\n" + arguments;
  if (!options.empty()) roff += ".SH OPTIONS\n" + options;
  roff += hand_written.sections + ".SH SEE ALSO\n.BR verbatim (1),\nwhich has the exit codes.\n";
  return page;
}

}  // namespace

std::vector<ManualPage> manual_pages_of(const std::vector<VerbText>& verbs, const std::string& folder, std::string& failure) {
  std::vector<ManualPage> pages;
  for (const VerbText& verb : verbs) {
    if (!verb.words.empty()) pages.push_back(page_of(verb, verbs, folder, failure));
  }
  return pages;
}

}  // namespace verbatim::cli
