// Fields of /proc files of a Linux process.
#pragma once

#include <charconv>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "sim/supervisor/machine/input_stream.h"

namespace verbatim::supervisor {

// Value of a field of /proc/PID/status or fdinfo; empty if there is none.
inline std::string field_of(const std::string& path, std::string_view name) {
  InputStream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t start = line.find_first_not_of(" \t:", name.size());
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

// 0 if the text does not begin with a number.
inline std::uint64_t number_of(const std::string& text, int base) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

}  // namespace verbatim::supervisor
