// The public headers of librdmacm for the library that implements them: what they declare is exported.
#pragma once

#pragma GCC visibility push(default)
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>
#pragma GCC visibility pop

#include <cerrno>

namespace verbatim::cm {

// The form every failure of this library takes.
inline int fail(int error) {
  errno = error;
  return -1;
}

}  // namespace verbatim::cm
