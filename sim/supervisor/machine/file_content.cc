#include "sim/supervisor/machine/file_content.h"

#include "sim/supervisor/machine/input_stream.h"

namespace verbatim::supervisor {

std::vector<char> content_of_file(const std::string& path) {
  constexpr std::streamoff kMost = 1 << 30;
  InputStream stream(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::streamoff>(stream.tellg());
  if (!stream || size <= 0 || size >= kMost) return {};
  std::vector<char> content(static_cast<std::size_t>(size));
  stream.seekg(0);
  stream.read(content.data(), size);
  content.resize(static_cast<std::size_t>(stream.gcount()));
  return content;
}

}  // namespace verbatim::supervisor
