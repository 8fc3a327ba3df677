// The programs of this folder, and how each ends.
#pragma once

#include <string>
#include <vector>

#include "tests/support/verbatim_run.h"

namespace verbatim::process {

struct Program {
  std::string command;  // the program's name and arguments
  int code = 0;         // what it ends with
  int signal = 0;       // or what ends it
  friend void PrintTo(const Program& program, std::ostream* out) { *out << program.command; }
};

// Every file of programs/ is a program that ends with 0.
std::vector<Program> plain_programs();
std::vector<Program> programs_with_arguments();
// All kinds of ends.
std::vector<Program> programs_that_end();

// `command` is the name of a program and its arguments; the same with the program's path.
std::string path_of(const std::string& command);
std::string name_of(const ::testing::TestParamInfo<Program>& info);

}  // namespace verbatim::process
