// The programs of this folder and their expected exit status.
#pragma once

#include <string>
#include <vector>

#include "tests/support/verbatim_run.h"

namespace verbatim::process {

struct Program {
  std::string command;  // the program's name and arguments
  int code = 0;         // its exit code
  int signal = 0;       // or the signal that kills it
  friend void PrintTo(const Program& program, std::ostream* out) { *out << program.command; }
};

// Every file of programs/ is a program that exits with 0.
std::vector<Program> plain_programs();
std::vector<Program> programs_with_arguments();
// Programs with all kinds of exit status.
std::vector<Program> programs_that_end();

// `command` is a program's name and arguments; returns the same with the program's path.
std::string path_of(const std::string& command);
std::string name_of(const ::testing::TestParamInfo<Program>& info);

}  // namespace verbatim::process
