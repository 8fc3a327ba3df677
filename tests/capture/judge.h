// Runs programs with a capture and a trace and compares what tshark, the trace and the bytes say.
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
  std::size_t guessed = 0;  // only because tshark took payload for a protocol
  std::size_t reths = 0, aeths = 0;  // compared with the trace
  std::size_t corrupted = 0;         // by a fault, with a wrong ICRC
  std::vector<Frame> frames;
  std::map<std::string, std::size_t> comments;
  std::string summary() const;
};

// `arguments` are those of `verbatim run`, quoted for a shell. Contradictions are test
// failures.
Judged judge(const std::string& arguments);

}  // namespace verbatim::capture
