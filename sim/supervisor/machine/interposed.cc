#include "sim/supervisor/machine/interposed.h"

#include <map>
#include <mutex>
#include <span>

#include "sim/supervisor/code/call_frames.h"
#include "sim/supervisor/machine/file_content.h"

namespace verbatim::supervisor {

const std::vector<spin::MemoryRange>& interposed_functions(const std::string& runtime) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<spin::MemoryRange>> known;
  const std::lock_guard lock(mutex);
  const auto [it, is_new] = known.try_emplace(runtime);
  if (!is_new) return it->second;
  const std::vector<char> content = content_of_file(runtime);
  for (const char* name : {"free", "realloc"}) {
    const auto function = code::exported_function(std::as_bytes(std::span(content)), name);
    if (function) it->second.push_back({function->begin, function->end - function->begin});
  }
  return it->second;
}

}  // namespace verbatim::supervisor
