// Binding and unbinding of memory windows (IBA 10.6.7.2, 11.4.1.1). The requester executes a request to bind,
// or to invalidate a key of this side, when all requests before it have begun; the responder executes a SEND
// with invalidate.
#pragma once

#include <cstdint>

#include "sim/hca/context.h"
#include "sim/hca/queues/work_request.h"

namespace verbatim::hca {

struct Adapter;
class QueuePair;

// Binds the window, or unbinds one of type 1. Returns the error of the request, or kSuccess.
ib::WcStatus bind_window(Adapter& adapter, QueuePair& qp, const SendWork& work);
// Unbinds the window of type 2 whose key the queue pair or its peer names; false when it may not.
bool invalidate_window(Adapter& adapter, const QueuePair& qp, std::uint32_t key);
void unbind(Adapter& adapter, MemoryWindow& window);
// A queue pair is destroyed: unbinds the windows that were bound through it.
void unbind_windows_of(QueuePair& qp);

}  // namespace verbatim::hca
