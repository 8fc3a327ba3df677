// Generated parts of guides and manual pages: tables of checks, exit codes, freedoms, verbs and options.
// `verbatim guide-block NAME` prints one; tools/guides puts it between `<!-- generated: NAME -->` and `<!--
// end -->`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/verbatim/verb_table.h"

namespace verbatim::cli {

enum class Markup { kMarkdown, kRoff };

// `name` is "checks", "check details", "exit codes", "freedoms", "verbs", or "options VERB" (options in this
// verb's --help, except --help). The text ends with a newline. nullopt if there is no such block.
std::optional<std::string> guide_block(const std::vector<VerbText>& verbs, const std::string& name, Markup markup);

// Escapes text for roff: hyphens can be copied, and no line is taken as a request.
std::string roff_escaped(const std::string& text);
// A ".TP" paragraph for an option or argument: names in bold, value in italics, help text.
std::string roff_option(const OptionText& option);

}  // namespace verbatim::cli
