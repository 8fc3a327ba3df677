// Sentences about wrong command lines: the verb, the option, and what was probably meant.
#pragma once

#include <string>
#include <vector>

#include "tools/verbatim/verb_table.h"

namespace verbatim::cli {

enum class UsageError {
  kUnexpected,  // an unknown option, or an argument too many
  kMissing,     // no verb, or not all arguments
  kOther,
};

// `words` are the arguments of the command line; `text` is the parser's sentence.
std::string usage_sentence(const std::vector<VerbText>& verbs, const std::vector<std::string>& words,
                           UsageError error, const std::string& text);

}  // namespace verbatim::cli
