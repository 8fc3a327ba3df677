// Whether a program has written to the buffer of a receive between its post and the message: what the shim saw there when it was
// posted (protocol/post_notes.h) is compared with what lies there before the first byte of the message does. What any adapter has
// written to the program's memory meanwhile is nobody's mistake. The answer goes into the shim's note; nothing else comes of it.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/hca/datapath/queue_pair.h"
#include "sim/hca/queues/work_request.h"

namespace verbatim::hca {

struct AdapterBase;

class ReceiveCheck {
 public:
  // Of this receive, which a message to `qp` takes and whose note lies at `note` in its owner's memory; nothing is read yet.
  // nullptr: there is nothing to look at.
  static std::shared_ptr<ReceiveCheck> of(QueuePair& qp, host::ProgramAddress note, const RecvWork& work, Instant now);

  bool is_due() const { return is_due_; }
  // The message is about to reach memory.
  void look(const AdapterBase& adapter);

 private:
  Ref<QueuePair> qp_;  // once it is gone, so may be the notes
  Ref<Context> owner_;
  host::ProgramAddress note_ = 0, buffer_ = 0;
  std::uint32_t length_ = 0;
  Instant posted_{};
  bool is_due_ = true;
};

}  // namespace verbatim::hca
