// `verbatim completion SHELL`: what bash, zsh and fish need to complete verbs, options and the values that options know.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace verbatim::cli {

inline constexpr const char* kShells[] = {"bash", "zsh", "fish"};

// A script for `shell`, one of kShells, made from the verbs and options of `app` that --help shows.
std::string completion_of(const CLI::App& app, const std::string& shell);

}  // namespace verbatim::cli
