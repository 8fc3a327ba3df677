// Check whether a program has written to the buffer of a receive between its post and the message: the bytes
// that the shim saw when it was posted (protocol/post_notes.h) are compared with the bytes before the first
// byte of the message is written. Writes of adapters to the buffer are no mistake. The answer is written into
// the shim's note; nothing else depends on it.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/hca/datapath/queue_pair.h"
#include "sim/hca/queues/work_request.h"

namespace verbatim::hca {

struct AdapterBase;

class ReceiveCheck {
 public:
  // A check of the receive `work`, which a message to `qp` takes. Its note is at `note` in its owner's
  // memory; nothing is read yet. nullptr: there are no bytes to compare.
  static std::shared_ptr<ReceiveCheck> of(QueuePair& qp, host::ProgramAddress note, const RecvWork& work, Instant now);

  bool is_due() const { return is_due_; }
  // The message is about to reach memory.
  void look(const AdapterBase& adapter);

 private:
  Ref<QueuePair> qp_;  // when it is gone, its notes may be gone as well
  Ref<Context> owner_;
  host::ProgramAddress note_ = 0, buffer_ = 0;
  std::uint32_t length_ = 0;
  Instant posted_{};
  bool is_due_ = true;
};

}  // namespace verbatim::hca
