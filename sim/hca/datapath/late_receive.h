// Check for a first receive of a reliable connection that was posted too late: the queue pair could already
// take messages, and nothing kept the peer's first message from arriving before the post. The adapter asks an
// ib::LateReceiveJudge, and writes the answer into the queue pair's record for the shim. Nothing else depends
// on it.
#pragma once

#include "sim/hca/queues/work_request.h"
#include "sim/ib/packet.h"

namespace verbatim::hca {

class QueuePair;

// A message that begins with `packet` has taken `work`, the queue pair's first receive. Called before its
// completion is written.
void note_late_receive(QueuePair& qp, const RecvWork& work, const ib::Packet& packet);

}  // namespace verbatim::hca
