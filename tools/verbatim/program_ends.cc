#include "tools/verbatim/program_ends.h"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <vector>

#include "sim/config/diagnostics.h"
#include "sim/config/words.h"
#include "sim/core/time_text.h"

namespace verbatim::cli {

std::string how_it_ended(const supervisor::ProgramResult& result) {
  if (result.signal != 0)
    return "was ended by signal " + std::to_string(result.signal) + " (" +
           config::signal_name(result.signal) + ")";
  return "ended with exit code " + std::to_string(result.exit_code);
}

bool as_expected(const supervisor::ProgramResult& result, const config::ProgramSpec& spec) {
  const std::string& expected = spec.expect_exit;
  // A program that we terminated may end by that signal, unless the scenario expects something else.
  if (spec.background && expected == "0" && (result.signal == SIGTERM || result.signal == SIGKILL))
    return true;
  if (spec.kill.count() != 0 && expected == "0" && result.signal == SIGKILL) return true;
  if (const int signal = config::signal_number(expected); signal != 0) return result.signal == signal;
  return result.signal == 0 && std::to_string(result.exit_code) == expected;
}

std::optional<std::size_t> first_failed(const RunPlan& plan, const supervisor::RunResult& result) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < result.programs.size(); ++i) {
    const supervisor::ProgramResult& program = result.programs[i];
    if (plan.programs[i].on_terminal || !program.exited || as_expected(program, plan.scenario.programs[i]))
      continue;
    if (!first || program.ended < result.programs[*first].ended) first = i;
  }
  return first;
}

namespace {

// Names a program that was started only after this one had ended, as a server after its client; "" if there
// is none.
std::string hint_of_order(const RunPlan& plan, const supervisor::RunResult& result, std::size_t ended) {
  for (std::size_t i = 0; i < result.programs.size(); ++i) {
    const config::ProgramSpec& later = plan.scenario.programs[i];
    if (result.programs[i].exited || later.background ||
        later.start.count() <= to_ps(result.programs[ended].ended))
      continue;
    return ", before the program of " + later.host + " was started at " + time_text(later.start) +
           ": if it needs that one, start that one first";
  }
  return "";
}

// Names a word of the command that may be meant as a host and is a misspelt one; "" if there is none.
std::string hint_of_name(const RunPlan& plan, const config::ProgramSpec& spec) {
  std::vector<std::string> names;
  for (const config::HostSpec& host : plan.scenario.topology.hosts) names.push_back(host.name);
  for (std::size_t i = 1; i < spec.command.size(); ++i) {
    const std::string word = spec.command[i].substr(0, spec.command[i].find(':'));
    if (word.empty() || std::isalpha(static_cast<unsigned char>(word[0])) == 0 ||
        std::ranges::find(names, word) != names.end())
      continue;
    if (const std::string near = config::nearest(word, names); !near.empty())
      return "; no host is named " + config::in_quotes(word) + ": if it is meant as one, is it " +
             config::in_quotes(near) + "?";
  }
  return "";
}

}  // namespace

std::string how_it_failed(const RunPlan& plan, const supervisor::RunResult& result, std::size_t i) {
  const config::ProgramSpec& spec = plan.scenario.programs[i];
  const supervisor::ProgramResult& program = result.programs[i];
  const std::string text = "on host " + spec.host + ", `" + config::join_words(spec.command) + "` " +
                           how_it_ended(program) + " at " + time_text(program.ended) +
                           (spec.expect_exit == "0" ? "" : "; the scenario expects " + spec.expect_exit);
  const bool is_by_code = spec.expect_exit == "0" && program.signal == 0;
  return is_by_code ? text + hint_of_order(plan, result, i) + hint_of_name(plan, spec) : text;
}

}  // namespace verbatim::cli
