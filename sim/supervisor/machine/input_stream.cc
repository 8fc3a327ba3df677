#include "sim/supervisor/machine/input_stream.h"

#include <cerrno>
#include <system_error>

#include "sim/supervisor/machine/launcher.h"

namespace verbatim::supervisor {

InputStream::InputStream(const std::string& path, std::ios::openmode mode) {
  errno = 0;
  open(path, mode);
  const int error = errno;
  if (!is_open() && error != 0 && error != ESRCH && error != EPERM && !is_error_of_file(error))
    throw std::system_error(error, std::generic_category(), "cannot read " + path);
}

}  // namespace verbatim::supervisor
