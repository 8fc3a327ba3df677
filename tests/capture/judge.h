// Runs programs with a capture and a trace, and compares tshark's output, the trace and the captured bytes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/capture/pcapng.h"

namespace verbatim::capture {

struct Judged {
  int code = -1;
  std::size_t packets = 0;
  std::size_t malformed = 0;
  std::size_t guessed = 0;  // malformed only because tshark decoded payload as a protocol
  std::size_t reths = 0, aeths = 0;  // number compared with the trace
  std::size_t corrupted = 0;         // corrupted by a fault; the ICRC is wrong
  std::vector<Frame> frames;
  std::map<std::string, std::size_t> comments;
  std::string summary() const;
};

// `arguments` are those of `verbatim run`, quoted for a shell. Each contradiction is a test
// failure.
Judged judge(const std::string& arguments);

}  // namespace verbatim::capture
