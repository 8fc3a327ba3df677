// What tshark reads in a capture.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/support/verbatim_run.h"

namespace verbatim::real {

inline bool has_tshark() { return std::system("tshark --version > /dev/null 2>&1") == 0; }

// A line for each packet that the display filter takes, its fields apart by tabs.
inline std::string tshark_fields(const std::string& capture, const std::string& filter,
                                 const std::string& fields) {
  const std::string command = "tshark -r " + support::quoted(capture) + " -Y " + support::quoted(filter) +
                              " -T fields " + fields + " 2>/dev/null";
  std::string text;
  FILE* const pipe = popen(command.c_str(), "r");
  std::array<char, 4096> bytes;
  while (const std::size_t n = fread(bytes.data(), 1, bytes.size(), pipe)) text.append(bytes.data(), n);
  pclose(pipe);
  return text;
}

}  // namespace verbatim::real
