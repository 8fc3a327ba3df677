// Descriptors of programs, had by the simulator: the same open file, with its position, flags and locks.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace verbatim::supervisor {

// A copy of descriptor `fd` of a child (pidfd_getfd); -1 and errno.
int copy_descriptor(pid_t pid, int fd);

// A thread that is parked, of a program whose shim is in place.
struct ParkedThread {
  pid_t native_tid;
  std::uint64_t gate;  // RegionHeader::gate: where its process may make any call
};

// Where containers refuse pidfd_getfd: the thread is stopped for a moment and sends `fd` through `socket`, a descriptor of its
// own. 0 or an errno. Nothing of it shows.
int send_descriptor(const ParkedThread& thread, int socket, int fd);

}  // namespace verbatim::supervisor
