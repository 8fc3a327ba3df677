#include "sim/explore/site_texts.h"

namespace verbatim::explore {

namespace {

constexpr std::string_view kBufferIsTheAdapters =
    "from post to completion a buffer belongs to the adapter, which may read it at any time and again (ibv_post_send(3))";
constexpr std::string_view kNoOrderInMessage =
    "the order in which the bytes of one message become visible is not defined (ibv_reg_mr(3), ORDERING SEMANTICS)";
constexpr std::string_view kNoOrderOfQueues =
    "the order of work on different send queues is not defined, nor is that of completions in different queues (IBA 10.8.3)";
constexpr std::string_view kNoTimeOfThreads = "which thread runs when is the scheduler's business (POSIX)";

constexpr SiteText kTexts[] = {
    {"gather-delay", "the adapter reads a send buffer later than it could", kBufferIsTheAdapters,
     "an idle adapter reads a short buffer within a microsecond of the doorbell",
     "leave the buffer alone until its completion has been polled"},
    {"gather-delay/turn", "another queue pair's packet leaves first", kNoOrderOfQueues,
     "adapters take turns, and with little load each queue pair is served as soon as its doorbell rings",
     "send what depends on each other on one queue pair, or wait for the completion in between"},
    {"placement", "the bytes of a message land in pieces", kNoOrderInMessage,
     "adapters write ascending addresses, and one PCI Express write is seen whole",
     "wait for a completion, an immediate or a later message of the same queue pair instead of watching memory"},
    {"placement/order", "the pieces of a message land in another order", kNoOrderInMessage,
     "adapters write ascending addresses", "do not take the last byte for the end of the message"},
    {"placement/hold", "pieces of a message land later than the others", kNoOrderInMessage,
     "all pieces of a message follow each other within nanoseconds", "do not take the last byte for the end of the message"},
    {"placement/delay", "pieces of a message land later", kNoOrderInMessage,
     "all pieces of a message follow each other within nanoseconds", "do not take the last byte for the end of the message"},
    {"completion-delay", "a completion is written later than it could be",
     "completions of one queue keep their order, and nothing says how soon they come or how those of two queues are ordered "
     "(IBA 10.8.5, 11.4.2.1)",
     "an idle adapter writes a completion as soon as the acknowledgement is in",
     "do not conclude from one queue's completion, or from a peer's answer, that another has completed"},
    {"event-on-arm", "asking for an event raises none for completions that are there already",
     "an event is raised for a completion that is added after the request (ibv_req_notify_cq(3), IBA 11.4.2.2)",
     "ConnectX adapters raise one when the queue is not empty",
     "poll once more after ibv_req_notify_cq, before going to sleep"},
    {"event-delay", "an event becomes readable later than its completion",
     "nothing says how soon an event follows its completion (ibv_get_cq_event(3))",
     "an interrupt takes a few microseconds and seldom longer", "take an event for a reason to poll, and for nothing more"},
    {"ack-delay", "an acknowledgement leaves later than it could",
     "a responder may delay acknowledgements as long as the requester's timeout allows (IBA 9.7.5.1.2)",
     "adapters acknowledge at once", "do not rely on a send's completion before the peer's answer"},
    {"ack-coalescing", "an acknowledgement is left out, since a later one stands for it",
     "one acknowledgement may stand for all earlier requests (IBA 9.7.5.1.2)", "with little load each request has its own",
     "do not rely on a send's completion before the peer's answer"},
    {"ack-timeout", "the requester waits longer for an acknowledgement",
     "up to four times the local ACK timeout are allowed (IBA 9.7.6.1.3)", "without loss the timeout never matters",
     "allow for four times the timeout in what waits for an error"},
    {"rnr-timer", "the requester waits longer after a receiver-not-ready NAK",
     "the RNR timer is the least time to wait (IBA 9.7.5.2.8)", "adapters wait just that long",
     "post receives before the peer may send"},
    {"failed-completion-fields", "fields that a failed completion leaves undefined hold anything",
     "of a completion whose status is an error only wr_id, status, qp_num and vendor_err are valid (ibv_poll_cq(3))",
     "adapters leave opcode and length as they were", "keep what is needed of a request under its wr_id"},
    {"failed-completion-fields/opcode", "the opcode of a failed completion is another",
     "of a completion whose status is an error only wr_id, status, qp_num and vendor_err are valid (ibv_poll_cq(3))",
     "adapters leave opcode and length as they were", "keep what is needed of a request under its wr_id"},
    {"failed-completion-fields/value", "length, immediate and flags of a failed completion hold anything",
     "of a completion whose status is an error only wr_id, status, qp_num and vendor_err are valid (ibv_poll_cq(3))",
     "adapters leave opcode and length as they were", "keep what is needed of a request under its wr_id"},
    {"quirk-no-last-wqe", "the event that the last request of a shared receive queue was reached does not come",
     "not allowed (ibv_get_async_event(3)), but known of hardware", "ConnectX adapters raise it",
     "do not wait for the event alone: poll until what was posted on the queue pair has come, or bound the wait"},
    {"quirk-early-ack", "an acknowledgement leaves before what it acknowledges is in memory",
     "contested: what an acknowledgement says of the memory behind the responder is read in two ways",
     "what was received before an acknowledgement is on PCI Express before it leaves, and keeps its place there",
     "tell the other side by a message of the same queue pair, not by another way"},
    {"quirk-multipath", "a receive completes before its data is in memory",
     "not allowed (ibv_reg_mr(3), ORDERING SEMANTICS), but seen where data and completion take different ways to memory", "both take one way",
     "nothing in a program helps but to check the data"},
    {"queue-pair-number", "a queue pair gets a number that was used before",
     "a number is free again when its queue pair is destroyed (ibv_destroy_qp(3))", "adapters go through all numbers first",
     "take no completion, event or table entry of a destroyed queue pair for one of a new one with its number"},
    {"shared-queue-number", "a shared receive queue gets a number that was used before",
     "a number is free again when its queue is destroyed (ibv_destroy_srq(3))", "adapters go through all numbers first",
     "tell the peer that a number is gone before the queue is destroyed"},
    {"object-handle", "an object of verbs gets a handle that was used before",
     "a handle is free again when its object is destroyed (ibv_open_device(3) and the verbs of each kind)",
     "programs seldom destroy and create while they look at handles",
     "keep nothing under a handle beyond the end of its object: what is created next may have it"},
    {"starting-psn", "a connection begins at another PSN", "a connection may begin at any PSN (IBA 12.7.31)",
     "one PSN in 16 million is drawn, so that numbers seldom begin anew, or come again after a reconnection",
     "compare PSNs modulo 2^24, and use no queue pair again before its packets are gone"},
    {"starting-psn/distance", "the PSNs of a connection begin anew after a few packets", "a connection may begin at any PSN (IBA 12.7.31)",
     "one PSN in 16 million is drawn, so that numbers seldom begin anew", "compare PSNs modulo 2^24"},
    {"communication-id", "a connection gets a communication identifier that was used before",
     "an identifier is free again when its time of waiting is over (IBA 12.9.8.4)", "managers go through all numbers first",
     "take no message of a connection that has ended for one of another"},
    {"connection-id-number", "an identifier of librdmacm gets a number that was used before",
     "a number is free again when its identifier is destroyed (rdma_destroy_id(3))",
     "programs seldom destroy and create while events are on their way",
     "acknowledge all events of an identifier, and forget it, before it is destroyed"},
    {"memory-key", "a memory region or window gets a key that was used before",
     "a key is free again when its region is deregistered (ibv_dereg_mr(3))", "adapters change a part of the key each time",
     "tell the peer that a key is gone before the region is deregistered"},
    {"queue-depth", "a queue gets as many entries as were asked for, and not one more",
     "at least what was asked for is granted (ibv_create_qp(3), ibv_create_cq(3), ibv_create_srq(3))",
     "adapters round up to a power of two", "count what is outstanding by the depth that was asked for, or by the granted one"},
    {"inline-room", "a queue pair gets as much room for inline data as was asked for, and not more",
     "at least what was asked for is granted (ibv_create_qp(3))", "adapters round an entry up, and have room left",
     "ask for max_inline_data, and use no more than what is granted"},
    {"verb-no-memory", "a verb that makes or registers something finds no memory (ENOMEM)",
     "these verbs may fail for want of memory or of a resource (ibv_reg_mr(3), ibv_create_qp(3), ibv_create_cq(3))",
     "a machine that does little else has memory", "check what these verbs return, give back what was made before, and tell it"},
    {"call-would-block", "a read or write that may not wait finds nothing, or no room, though it was said to be ready",
     "what poll, select or epoll say may be over when the call comes (select(2), BUGS; POSIX)",
     "on an idle machine what was ready is still so", "take EAGAIN for a reason to wait again, also behind a poll"},
    {"call-interrupted", "a call that waits ends with EINTR",
     "a signal whose handler lacks SA_RESTART ends calls that wait, and a stop of the process some of them (signal(7))",
     "signals seldom come while a program waits", "repeat a call that ends with EINTR, with what is left of its time"},
    {"short-transfer", "a read or write moves a part of what it could",
     "a stream has no boundaries: a call may move less than it was asked to (read(2), send(2), tcp(7))",
     "short messages come in one segment", "read and write in a loop until all bytes have been moved"},
    {"short-transfer/bytes", "a read or write moves so many bytes", "a call may move less than it was asked to (read(2), send(2))",
     "short messages come in one segment", "read and write in a loop until all bytes have been moved"},
    {"packet-fault", "a packet is lost, comes twice, or comes late",
     "links lose packets; a reliable queue pair repeats them, and reads buffers again for it (IBA 9.7.6)",
     "a healthy fabric loses next to nothing", "leave buffers alone until their completion, and handle errors of every request"},
    {"packet-fault/kind", "a packet comes twice or late instead of being lost", "nothing says when a packet comes (IBA 9.7.6)",
     "a healthy fabric loses next to nothing", "handle errors of every request"},
    {"packet-fault/delay", "a packet comes late", "nothing says when a packet comes (IBA 9.7.6)",
     "packets of one path take the same time", "allow for what comes after its timeout"},
    {"thread-before-call", "a thread comes later to a call", kNoTimeOfThreads,
     "on an idle machine a thread is seldom interrupted between two calls",
     "order what depends on each other by a lock, a condition or a message, not by who is usually first"},
    {"thread-before-local-call", "a thread comes later to a call of verbs that needs no kernel", kNoTimeOfThreads,
     "on an idle machine a thread is seldom interrupted between two calls",
     "order what depends on each other by a lock, a condition or a message, not by who is usually first"},
    {"thread-before-access",
     "a thread comes later to an access to memory, or to the write of an instruction that reads and writes",
     kNoTimeOfThreads,
     "on an idle machine a thread is seldom interrupted between two accesses, which are nanoseconds apart",
     "protect what others touch, too, by a lock, an atomic operation or a message, from the first access to the last"},
    {"thread-after-wait", "a thread that was woken runs later", kNoTimeOfThreads,
     "on an idle machine a thread runs a few microseconds after it was woken",
     "order what depends on each other by a lock, a condition or a message, not by who is usually first"},
};

}  // namespace

std::span<const SiteText> site_texts() { return kTexts; }

const SiteText* text_of(std::string_view site) {
  for (const SiteText& text : kTexts) {
    if (text.site == site) return &text;
  }
  return nullptr;
}

}  // namespace verbatim::explore
