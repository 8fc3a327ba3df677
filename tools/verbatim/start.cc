#include <stdlib.h>
#include <sys/random.h>

#include <cstdint>

#include "tools/verbatim/cli.h"

// The linked C++ library has an unused random device that needs this function, which would require glibc
// 2.36.
extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  return ::getrandom(&value, sizeof value, 0) == sizeof value ? value : std::uint32_t{0};
}

int main(int argc, char** argv) { return verbatim::cli::start(argc, argv); }
