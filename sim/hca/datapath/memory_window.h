// What binds and unbinds memory windows (IBA 10.6.7.2, 11.4.1.1). A request to bind, or to invalidate a key on this side, is
// executed by its queue pair's requester when all before it have been begun; a SEND with invalidate by the responder.
#pragma once

#include <cstdint>

#include "sim/hca/context.h"
#include "sim/hca/queues/work_request.h"

namespace verbatim::hca {

struct Adapter;
class QueuePair;

// What is wrong with the request; kSuccess when the window is bound, or one of type 1 unbound, now.
ib::WcStatus bind_window(Adapter& adapter, QueuePair& qp, const SendWork& work);
// Ends the use of a window of type 2 by a key that the queue pair, or its peer, names; false when it may not.
bool invalidate_window(Adapter& adapter, const QueuePair& qp, std::uint32_t key);
void unbind(Adapter& adapter, MemoryWindow& window);
// A queue pair ends: nobody can reach the windows that were bound through it any more.
void unbind_windows_of(QueuePair& qp);

}  // namespace verbatim::hca
