// The parts of guides and manual pages that are generated: tables of checks, exit codes, freedoms, verbs and options.
// `verbatim guide-block NAME` prints one; tools/guides puts it between `<!-- generated: NAME -->` and `<!-- end -->`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/verbatim/verb_table.h"

namespace verbatim::cli {

enum class Markup { kMarkdown, kRoff };

// `name` is "checks", "check details", "exit codes", "freedoms", "verbs", or "options VERB" (all that --help of this verb shows, but
// --help). The text ends with a line end. nullopt: there is no such block.
std::optional<std::string> guide_block(const std::vector<VerbText>& verbs, const std::string& name, Markup markup);

// Text as roff shows it: hyphens that can be copied, no line that is taken for a request.
std::string roff_escaped(const std::string& text);
// A ".TP" paragraph for an option or argument: its names in bold, its value in italics, its help.
std::string roff_option(const OptionText& option);

}  // namespace verbatim::cli
