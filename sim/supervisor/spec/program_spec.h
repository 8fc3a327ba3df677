// A program that is to run: where, with what, from when to when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/time.h"

namespace verbatim::supervisor {

// Content of a file that a host is given.
struct GivenFile {
  std::string content;
  bool executable = false;
};

struct ProgramSpec {
  std::size_t host = 0;                        // index into the hosts
  std::vector<std::string> arguments;          // argv; [0] is looked up in PATH unless it has a slash
  std::map<std::string, std::string> environment;  // beyond the fixed base environment
  std::string working_directory;               // empty: the caller's
  std::map<std::string, GivenFile> files;      // in the host's own folders before the start, by path
  Instant start{};
  Instant kill = kNever;                       // by SIGKILL
  // It leads the session of a terminal of SupervisorOptions::terminal_user, the `number`-th of the run.
  struct OnTerminal {
    std::size_t number = 0;
    std::uint16_t rows = 24, columns = 80;
  };
  std::optional<OnTerminal> on_terminal;
  bool background = false;                     // gets SIGTERM when all programs without this mark have ended
};

}  // namespace verbatim::supervisor
