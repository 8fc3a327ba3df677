// Explanation of each choice for users: its effect, the rule that permits it, why it is rarely seen, and what to do if the
// choice itself shows the mistake.
#pragma once

#include <span>
#include <string_view>

namespace verbatim::explore {

struct SiteText {
  std::string_view site;
  std::string_view effect;   // effect of an answer other than the default
  std::string_view rule;     // with its source
  std::string_view hidden;   // why everyday hardware does not show it
  std::string_view remedy;   // empty: the mistake depends on the run (tools/verbatim/advice)
};

std::span<const SiteText> site_texts();
// nullptr: the site has no text.
const SiteText* text_of(std::string_view site);

}  // namespace verbatim::explore
