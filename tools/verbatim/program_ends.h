// How programs of a run ended, and sentences about those that failed by themselves.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "sim/supervisor/supervisor.h"
#include "tools/verbatim/run_plan.h"

namespace verbatim::cli {

// "ended with exit code 1", "was ended by signal 11 (SIGSEGV)".
std::string how_it_ended(const supervisor::ProgramResult& result);
// Whether a program that has exited ended as its scenario expects.
bool as_expected(const supervisor::ProgramResult& result, const config::ProgramSpec& spec);
// The program that ended first of those that failed by themselves; nullopt: none has.
std::optional<std::size_t> first_failed(const RunPlan& plan, const supervisor::RunResult& result);
// Sentence about a program that has failed by itself. Names a program that was started only after its end, as
// a server after its client, and a misspelt name of a host in its command.
std::string how_it_failed(const RunPlan& plan, const supervisor::RunResult& result, std::size_t program);

}  // namespace verbatim::cli
