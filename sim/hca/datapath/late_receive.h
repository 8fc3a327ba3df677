// Whether the first receive of a reliable connection was posted too late to be sure of: when the queue pair could take messages
// already, and by the order of events the peer's first message might have come before it. Whoever knows what hosts have heard of
// each other says so (ib::LateReceiveJudge); the answer goes into the queue pair's record, where the shim finds it, and nothing else
// comes of it.
#pragma once

#include "sim/hca/queues/work_request.h"
#include "sim/ib/packet.h"

namespace verbatim::hca {

class QueuePair;

// A message that begins with this packet has taken `work`, the first of the queue pair's receives, and nobody has been told yet.
void note_late_receive(QueuePair& qp, const RecvWork& work, const ib::Packet& packet);

}  // namespace verbatim::hca
