// POSIX message queues (posix_queue.h).
#pragma once

#include "sim/supervisor/kernel/call_context.h"

namespace verbatim::supervisor {

CallOutcome sys_mq_open(CallContext& call);
CallOutcome sys_mq_unlink(CallContext& call);
CallOutcome sys_mq_send(CallContext& call);
CallOutcome sys_mq_receive(CallContext& call);
CallOutcome sys_mq_notify(CallContext& call);
CallOutcome sys_mq_attributes(CallContext& call);

}  // namespace verbatim::supervisor
