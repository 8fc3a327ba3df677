// Options of the verbs that run programs, and options shared by several verbs. main.cc has the other verbs.
#pragma once

#include <string>
#include <vector>

#include "tools/verbatim/cli.h"

namespace CLI {
class App;
class Option;
}

namespace verbatim::cli {

// The end of every help text about runs.
std::string exit_code_footer();

// An option that takes one of these words; help shows them and shells complete them.
void take_choice(CLI::Option* option, const std::vector<std::string>& words);

void add_quiet(CLI::App* verb, AnswerStyle& style);
// Adds --quiet and --json.
void add_answer(CLI::App* verb, AnswerStyle& style);
void add_assume_missing(CLI::App* verb, std::vector<std::string>& names);

void add_run(CLI::App& app, RunOptions& options);
void add_explore(CLI::App& app, ExploreOptions& options);
void add_sweep(CLI::App& app, SweepOptions& options);
void add_pack(CLI::App& app, PackOptions& options);
void add_share(CLI::App& app, SplitTask& task);
void add_replay(CLI::App& app, ReplayOptions& options);
void add_shell(CLI::App& app, ShellOptions& options);
void add_attach(CLI::App& app, AttachOptions& options);
void add_shrink(CLI::App& app, ShrinkOptions& options);

}  // namespace verbatim::cli
