// The call that a thread makes, and the state of its tries: a blocked call is retried (kernel/kernel.h).
#pragma once

#include <cstdint>
#include <memory>

#include "sim/core/engine.h"
#include "sim/supervisor/files/virtual_file.h"
#include "sim/supervisor/tasks/argument_copies.h"
#include "sim/supervisor/tasks/pending_call.h"

namespace verbatim::supervisor {

class QueueWait;

struct CurrentCall : PendingCall {
  // A FIFO that the thread waits to open.
  struct PendingOpen {
    VirtualFilePtr end;          // nullptr: none
    std::uint64_t partners = 0;  // number of partners when the wait began
  };

  CurrentCall& operator=(const PendingCall& made) {
    PendingCall::operator=(made);
    return *this;
  }

  Instant called_at{};  // now, or earlier while a turn that was skipped is completed

  // Kept until the call is answered.
  std::uint64_t transferred = 0;  // bytes moved by earlier tries: a blocking write or recv of everything
  ArgumentCopies copies;
  PendingOpen pending_open;
  std::shared_ptr<QueueWait> queue_wait;  // of mq_timedsend or mq_timedreceive

  // Virtual pid of the last child that the thread was about to create; 0: none. Kept after the call.
  std::uint32_t copy_pid = 0;
  std::uint64_t copy_file_at = 0;  // where a pidfd of that child is stored; 0: none
  std::int32_t copy_file = -1;     // this pidfd

  // The call is answered.
  void finish() {
    transferred = 0;
    copies.forget();
    pending_open = {};
    queue_wait.reset();
  }
};

}  // namespace verbatim::supervisor
