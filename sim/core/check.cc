#include "sim/core/check.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace verbatim {

constinit thread_local CheckContext check_context;

namespace {
std::uint64_t check_seed = 0;
}

void set_check_seed(std::uint64_t seed) { check_seed = seed; }

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr,
               "verbatim: internal error: CHECK(%s) failed at %s:%d, virtual time %" PRId64
               " ps, component %" PRIu32 ", seed %" PRIu64 "\n",
               condition, file, line, check_context.virtual_time_ps, check_context.component, check_seed);
  std::fflush(nullptr);
  std::_Exit(70);
}

}  // namespace verbatim
