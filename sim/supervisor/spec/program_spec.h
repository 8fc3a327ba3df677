// A program of a run: host, arguments, files, start and kill time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/time.h"

namespace verbatim::supervisor {

// Content of a file that a host gets.
struct GivenFile {
  std::string content;
  bool executable = false;
};

struct ProgramSpec {
  std::size_t host = 0;                        // index of the host
  std::vector<std::string> arguments;          // argv; [0] is looked up in PATH unless it contains a slash
  std::map<std::string, std::string> environment;  // in addition to the fixed base environment
  std::string working_directory;               // empty: the caller's
  std::map<std::string, GivenFile> files;      // created in the host's own folders before the start, by path
  Instant start{};
  Instant kill = kNever;                       // time of SIGKILL
  // The program leads the session of terminal `number` of SupervisorOptions::terminal_user.
  struct OnTerminal {
    std::size_t number = 0;
    std::uint16_t rows = 24, columns = 80;
  };
  std::optional<OnTerminal> on_terminal;
  bool background = false;                     // gets SIGTERM after the end of all programs without this flag
};

}  // namespace verbatim::supervisor
