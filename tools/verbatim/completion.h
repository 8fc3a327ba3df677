// `verbatim completion SHELL`: what bash, zsh and fish need to complete verbs, options and the values that options know.
#pragma once

#include <string>
#include <vector>

#include "tools/verbatim/verb_table.h"

namespace verbatim::cli {

inline constexpr const char* kShells[] = {"bash", "zsh", "fish"};

// A script for `shell`, one of kShells, from verb_table().
std::string completion_of(const std::vector<VerbText>& verbs, const std::string& shell);

}  // namespace verbatim::cli
