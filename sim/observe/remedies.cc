#include "sim/observe/remedies.h"

namespace verbatim::observe {

namespace {

struct Remedy {
  std::string_view part;  // substring of the text; the first matching row is used
  std::string_view remedy;
};

constexpr Remedy kRemedies[] = {
    {"credit loop: ",
     "shortest paths around a ring of switches can deadlock: remove one link of the ring, connect the switches by a "
     "tree or a leaf-spine topology, or choose another \"routing_engine\" on InfiniBand, such as updn; larger buffers only make it less "
     "frequent, and lifetimes of packets or a PFC watchdog end it with losses"},
    {"the same bytes in reverse order: is",
     "convert the key once in each direction: htonl when it is put into the message, ntohl when it is taken out, or "
     "neither"},
    {"which has the same bytes in reverse order",
     "convert the address once in each direction: htobe64 when it is put into the message, be64toh when it is taken "
     "out, or neither"},
    {"it has been deregistered",
     "keep the region registered until every request that names it has completed, the peer's requests too: the peer must poll their "
     "completions before it says that it is done"},
    {" is not bound",
     "bind the window before the peer gets its key, and invalidate it only when every request that names it has completed: the peer must poll "
     "their completions before it says that it is done, and a message on another queue pair can overtake them"},
    {"there is no memory with rkey",
     "send the peer the rkey of ibv_reg_mr, not the lkey or an address, and use the key of the region that contains "
     "the address"},
    {"there is no memory with lkey", "put mr->lkey of the region that contains the buffer into each ibv_sge"},
    {"was registered without",
     "add the missing right to the access flags of ibv_reg_mr; remote writes and atomics also need "
     "IBV_ACCESS_LOCAL_WRITE"},
    {"was bound without", "add the missing right when the window is bound; a window can have no right that its region lacks"},
    {"qp_access_flags",
     "give the responder's queue pair the right as well: qp_access_flags in ibv_modify_qp to INIT (or RTR, RTS); the "
     "rights of the region alone are not enough"},
    {"because it was registered with a length of 0 bytes",
     "find out why ibv_reg_mr got the length 0, with which it succeeds: the length may not have been set, or not have been sent to the side that "
     "registers the memory"},
    {"are not within the memory with rkey",
     "compare remote_addr and the length with the peer's region: is the address in the wrong byte order (htobe64, "
     "be64toh), from another region, or was only its lower half sent?"},
    {"are not within the memory with lkey", "compare addr and length of the ibv_sge with the registered region"},
    {"is not a memory window of type 2 that was bound through this queue pair",
     "put into invalidate_rkey the rkey of a window of type 2 that the peer has bound by IBV_WR_BIND_MW on this connection; the rkey of a region "
     "of ibv_reg_mr cannot be invalidated, so send without invalidation and let the peer deregister the region"},
    {"are not within the memory window", "compare the address with the range that the window was bound to"},
    {"another protection domain", "create the queue pair and register the memory with the same ibv_pd"},
    {"belongs to another program's memory",
     "a key is valid only in the process that registered the memory; after fork, register the memory again"},
    {"path_mtu must be the same", "set path_mtu on both sides to the smaller active_mtu of the two ports"},
    {"path_mtu", "set path_mtu to at most the port's active_mtu (ibv_query_port), and to the same value on both sides"},
    {"max_rd_atomic must not be greater", "set max_rd_atomic of the requester to at most max_dest_rd_atomic of the responder"},
    {"max_rd_atomic",
     "a requester needs max_rd_atomic of at least 1 for READs and atomics, and at most the device's max_qp_rd_atom"},
    {"the receive for it has", "post receives that hold the longest message of the peer; on UD add 40 bytes for the GRH"},
    {"no receive is posted",
     "post receives before the peer may send: the first ones before the queue pair goes to RTR, each later one before "
     "the answer that lets the peer send again"},
    {"attr_mask lacks",
     "set these attributes and their bits in attr_mask; `verbatim explain ibv_modify_qp` lists what each change needs"},
    {"which cannot be changed here",
     "remove these bits from attr_mask; `verbatim explain ibv_modify_qp` lists what each change needs"},
    {"a queue pair cannot change from",
     "go through RESET, INIT, RTR and RTS in this order; `verbatim explain ibv_modify_qp` lists what each change needs"},
    {"dest_qp_num ",
     "dest_qp_num must be the peer's qp->qp_num in host byte order: check what the programs exchange, and that ntohl "
     "is applied exactly once"},
    {"q_psn ", "a PSN has 24 bits: rq_psn of one side must equal sq_psn & 0xffffff of the other, in host byte order"},
    {"are accepted from RTS on",
     "bring the queue pair to RTS first: call ibv_modify_qp to INIT, RTR and RTS, and check what each call returns"},
    {"nothing is sent before RTS",
     "bring the queue pair to RTS first: call ibv_modify_qp to INIT, RTR and RTS, and check what each call returns"},
    {"nothing is received before RTR",
     "bring the queue pair to RTR first: call ibv_modify_qp to INIT and RTR, and check what each call returns"},
    {"packets that arrive before RTR are dropped",
     "send only after the peer has confirmed that its ibv_modify_qp to RTR succeeded; and set a timeout, since 0 waits "
     "without limit: timeout 14 with retry_cnt 7 is usual"},
    {"has no receive posted for it (",
     "post receives before the peer may send; rnr_retry 7 repeats without limit, a smaller value ends with an error"},
    {"has no receive posted for them (",
     "post receives before the peer may send; rnr_retry 7 repeats without limit, a smaller value ends with an error"},
    {"has no receive posted", "post receives before the peer may send, and another one for each that a message has used"},
    {"so they produce no completions", "set IBV_SEND_SIGNALED, or sq_sig_all, on sends whose completion the program waits for"},
    {"so it produces no completion", "set IBV_SEND_SIGNALED, or sq_sig_all, on sends whose completion the program waits for"},
    {"returns only when 1 rdma_cm event",
     "call rdma_ack_cm_event for each event that rdma_get_cm_event returned, before rdma_destroy_id"},
    {"(rdma_ack_cm_event)", "call rdma_ack_cm_event for each event that rdma_get_cm_event returned, before rdma_destroy_id"},
    {"(ibv_ack_cq_events)", "call ibv_ack_cq_events for each event that ibv_get_cq_event returned, before the CQ is destroyed"},
    {"(ibv_ack_async_event)",
     "call ibv_ack_async_event for each event that ibv_get_async_event returned, before the object is destroyed"},
    {"must poll once more after arming",
     "after ibv_req_notify_cq poll until the CQ is empty, and only then sleep in ibv_get_cq_event"},
    {"was never armed (ibv_req_notify_cq)",
     "call ibv_req_notify_cq before each sleep in ibv_get_cq_event, and poll until the CQ is empty between the two"},
    {"not armed again (ibv_req_notify_cq)",
     "call ibv_req_notify_cq before each sleep in ibv_get_cq_event, and poll until the CQ is empty between the two"},
    {"for solicited completions only",
     "call ibv_req_notify_cq with solicited_only = 0, or let the sender set IBV_SEND_SOLICITED"},
    {"none of them sends first", "let one side send first: follow which message each of them waits for, and who should send it"},
    {"it overruns:",
     "create the CQ with room for all requests that may be outstanding on all its queue pairs, and poll it often "
     "enough"},
    {"has overrun",
     "create the CQ with room for all requests that may be outstanding on all its queue pairs, and poll it often "
     "enough"},
    {"needs a GRH (ah_attr.is_global)",
     "on RoCE set ah_attr.is_global, grh.dgid, grh.sgid_index and grh.hop_limit; RoCE has no LIDs"},
    {"and dgid is",
     "use the local GID of the same kind and IP version as the peer's: compare the entries of ibv_query_gid_ex on both "
     "sides"},
    {"sgid_index", "use an entry of the GID table that exists: see ibv_query_gid_ex, `show_gids` or `ibv_devinfo -v`"},
    {"dgid is all zeros", "send the peer's GID along with its LID and QP number, and put it into grh.dgid"},
    {"address resolution got no answer for dgid", "check grh.dgid: is it the peer's GID, and can this host reach its IP address?"},
    {"is not the LID of a port", "put the peer's LID (ibv_query_port, in host byte order) into ah_attr.dlid"},
    {"IBV_ACCESS_REMOTE_ATOMIC need IBV_ACCESS_LOCAL_WRITE", "add IBV_ACCESS_LOCAL_WRITE to the access flags"},
    {"are mapped", "register memory that is mapped and, with IBV_ACCESS_LOCAL_WRITE, writable; check the length"},
    {"are not mapped", "keep memory mapped as long as it is registered"},
    {"objects of it still exist",
     "destroy what was made from it first: queue pairs, then CQs and regions, then the protection domain"},
    {"memory windows are bound to it", "invalidate or free the windows first"},
    {"port's max_msg_sz", "send it in several messages"},
    {"are in use", "free what is no longer needed, or raise the limit in the adapter's profile"},
    {"unsignaled:",
     "set IBV_SEND_SIGNALED on at least one of max_send_wr requests, and poll its completion: it frees the slots of "
     "all requests before it"},
    {"unacknowledged:",
     "call ibv_ack_cq_events or ibv_ack_async_event for each event that was taken, before the object is destroyed"},
    {"missed-wakeup:", "after ibv_req_notify_cq poll until the CQ is empty, and only then sleep in ibv_get_cq_event"},
    {"send-buffer:",
     "do not change the buffer until the completion of its request, or of a later request of that queue, has been "
     "polled"},
    {"late-receive:",
     "post the first receives before the queue pair goes to RTR: before rdma_accept or rdma_connect, or before the "
     "program notifies the peer that this side is ready"},
    {"write-target:",
     "wait for the completion of a SEND, or of a WRITE with immediate data, that follows the WRITE; or let each part "
     "show by itself that it is complete"},
    {"region-in-use:", "deregister memory only when all requests that name it have completed"},
    {"receive-buffer:", "do not write to the buffer between ibv_post_recv and the poll of its completion"},
    {"undefined-field:", "check the status first; a failed completion defines only wr_id, status, qp_num and vendor_err"},
    {"memory-gone:", "poll the completions of all requests that name the memory, deregister it, and only then free it"},
    {"threads:", "protect the object with a lock, or do not put it into a thread domain"},
    {"forked-buffer:",
     "map memory that both processes must see with MAP_SHARED before the fork, or hand the data over through a pipe"},
    {"forked-context:", "open the device and create all objects in the process that uses them, after the fork"},
    {"leak:", "destroy in the reverse order of creation: queue pairs, CQs, channels, regions, protection domain, device"},
};

}  // namespace

std::string_view remedy_for(std::string_view text) {
  for (const Remedy& row : kRemedies) {
    if (text.find(row.part) != text.npos) return row.remedy;
  }
  return {};
}

}  // namespace verbatim::observe
