// Descriptors of real files that the simulator takes from programs, or sends to them.
#pragma once

#include <sys/types.h>

#include "sim/supervisor/files/passage.h"

namespace verbatim::supervisor {

class Process;

// Access mode of a real file that the process has open, read from the mode of its /proc link.
int native_access_mode(const Process& process, int fd);
// S_IFMT bits of the file; 0: there is none.
unsigned native_type(const Process& process, int fd);

class RealDescriptors {
 public:
  Passage& passage() { return *passage_; }
  // Replaces the own passage; call before any process starts.
  void use_passage(Passage& passage) { passage_ = &passage; }
  // True: copies descriptors of programs by pidfd_getfd. False: stops the program, which sends the
  // descriptor.
  void copy(bool copies) { copies_ = copies; }
  // Duplicates a real file that the process has open into the simulator. `asking`: native id of the process's
  // thread that makes the request. Returns the new descriptor, or -1 and errno.
  int take(Process& process, pid_t asking, int fd);

 private:
  Passage own_passage_;
  Passage* passage_ = &own_passage_;
  bool copies_ = true;
};

}  // namespace verbatim::supervisor
