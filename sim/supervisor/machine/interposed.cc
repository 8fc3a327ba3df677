#include "sim/supervisor/machine/interposed.h"

#include <fstream>
#include <iterator>
#include <span>

#include "sim/supervisor/code/call_frames.h"

namespace verbatim::supervisor {

std::vector<spin::MemoryRange> interposed_functions(const std::string& runtime) {
  std::ifstream file(runtime, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<spin::MemoryRange> found;
  for (const char* name : {"free", "realloc"}) {
    const auto function = code::exported_function(std::as_bytes(std::span(bytes)), name);
    if (function) found.push_back({function->begin, function->end - function->begin});
  }
  return found;
}

}  // namespace verbatim::supervisor
