// Descriptors of programs, and their duplicates in the simulator: the same open file description, with position,
// flags and locks.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace verbatim::supervisor {

// Whether the thread's descriptor `fd` is open in the machine's kernel.
bool has_descriptor(pid_t tid, int fd);

// Whether the thread's open descriptor `fd` was opened with O_PATH.
bool only_names_file(pid_t tid, int fd);

// Duplicates descriptor `fd` of a child (pidfd_getfd). Returns -1 and errno on failure.
int copy_descriptor(pid_t pid, int fd);

// A thread without the token, of a program whose shim is in place.
struct ParkedThread {
  pid_t native_tid;
  std::uint64_t gate;  // RegionHeader::gate: code from which the process may make any call
};

// For containers that refuse pidfd_getfd: stops the thread, which sends `fd` through its own descriptor
// `socket`. Returns 0 or an errno. Registers and memory are restored afterwards.
int send_descriptor(const ParkedThread& thread, int socket, int fd);

}  // namespace verbatim::supervisor
