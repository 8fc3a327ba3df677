#include "sim/supervisor/machine/file_content.h"

#include <cerrno>
#include <fstream>
#include <system_error>

#include "sim/supervisor/machine/launcher.h"

namespace verbatim::supervisor {

std::vector<char> content_of_file(const std::string& path) {
  constexpr std::streamoff kMost = 1 << 30;
  errno = 0;
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (const int error = errno; !stream.is_open() && error != 0 && !is_error_of_file(error))
    throw std::system_error(error, std::generic_category(), "cannot read " + path);
  const auto size = static_cast<std::streamoff>(stream.tellg());
  if (!stream || size <= 0 || size >= kMost) return {};
  std::vector<char> content(static_cast<std::size_t>(size));
  stream.seekg(0);
  stream.read(content.data(), size);
  content.resize(static_cast<std::size_t>(stream.gcount()));
  return content;
}

}  // namespace verbatim::supervisor
