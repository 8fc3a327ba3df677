// `verbatim completion SHELL`: scripts with which bash, zsh and fish complete verbs, options and values of
// options.
#pragma once

#include <string>
#include <vector>

#include "tools/verbatim/verb_table.h"

namespace verbatim::cli {

inline constexpr const char* kShells[] = {"bash", "zsh", "fish"};

// A script for `shell`, one of kShells, from verb_table().
std::string completion_of(const std::vector<VerbText>& verbs, const std::string& shell);

}  // namespace verbatim::cli
