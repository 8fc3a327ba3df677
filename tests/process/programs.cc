#include "tests/process/programs.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <sstream>

namespace verbatim::process {

std::string path_of(const std::string& command) {
  const std::size_t end = std::min(command.find(' '), command.size());
  return support::quoted(std::string(PROCESS_FOLDER) + "/" + command.substr(0, end)) + command.substr(end);
}

std::vector<Program> plain_programs() {
  std::istringstream names(PLAIN_PROGRAMS);
  std::vector<Program> programs;
  for (std::string name; names >> name;) programs.push_back({name});
  return programs;
}

std::vector<Program> programs_with_arguments() {
  std::vector<Program> programs = {{"threads"}, {"clocks"},       {"signals"},           {"identity"},
                                   {"spin"},    {"output large"}, {"output unfinished"}, {"output closed", 7},
                                   // Below and above the numbers that the shim uses for its own descriptors.
                                   {"many_descriptors 1100 1100"}, {"many_descriptors 4000 4000"}};
  // Natively only root can.
  if (geteuid() != 0) return programs;
  programs.insert(programs.end(), {{"credentials"},
                                   {"credentials own"},
                                   {"credentials groups"},
                                   {"credentials rights"},
                                   {"credentials folders"},
                                   {"set_group_ids"}});
  return programs;
}

std::vector<Program> programs_that_end() {
  std::vector<Program> programs = {{"end exit 0"},      {"end exit 3", 3},    {"end exit 255", 255},
                                   {"end quick 4", 4},  {"end thread 5", 5},  {"end segv", 0, 11},
                                   {"end abort", 0, 6}, {"end signal 17", 99}};
  for (const int signal : {1, 2, 6, 9, 10, 11, 13, 14, 15, 31}) {
    programs.push_back({"end signal " + std::to_string(signal), 0, signal});
  }
  return programs;
}

std::string name_of(const ::testing::TestParamInfo<Program>& info) {
  std::string name = info.param.command;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

}  // namespace verbatim::process
