#include "sim/observe/remedies.h"

namespace verbatim::observe {

namespace {

struct Remedy {
  std::string_view part;  // of the text; the first row that fits is taken
  std::string_view remedy;
};

constexpr Remedy kRemedies[] = {
    {"the same bytes in the other order",
     "convert the key once on each way: htonl where it is put into the message, ntohl where it is taken out, or neither"},
    {"its bytes in the other order, is",
     "convert the address once on each way: htobe64 where it is put into the message, be64toh where it is taken out, or neither"},
    {"it has been deregistered", "keep the region registered until the last request that names it has completed, the peer's included"},
    {"there is no memory with rkey",
     "send the rkey of ibv_reg_mr to the peer, not the lkey or an address, and use the key of the region that the address lies in"},
    {"there is no memory with lkey", "put mr->lkey of the region that holds the buffer into each ibv_sge"},
    {"was registered without", "add the missing right to the access flags of ibv_reg_mr; remote writes and atomics need "
                               "IBV_ACCESS_LOCAL_WRITE besides"},
    {"was bound without", "add the missing right when the window is bound; it can have no more than its region"},
    {"qp_access_flags", "give the responder's queue pair the right, too: qp_access_flags in ibv_modify_qp to INIT (or RTR, RTS); the "
                        "rights of the region alone do not suffice"},
    {"are not within the memory with rkey",
     "check remote_addr and the length against the peer's region: is the address in the wrong byte order (htobe64, be64toh), of "
     "another region, or was only its lower half sent?"},
    {"are not within the memory with lkey", "check addr and length of the ibv_sge against the registered region"},
    {"are not within the memory window", "check the address against the range that the window was bound to"},
    {"of another protection domain", "create the queue pair and register the memory with the same ibv_pd"},
    {"is of another program's memory", "a key is valid in the process that registered the memory; after fork, register anew"},
    {"path_mtu must be the same", "give both sides the smaller of the two ports' active_mtu as path_mtu"},
    {"path_mtu", "use at most the port's active_mtu (ibv_query_port), and the same on both sides"},
    {"max_rd_atomic must not be greater", "let max_rd_atomic of the requester be at most max_dest_rd_atomic of the responder"},
    {"max_rd_atomic", "a requester needs max_rd_atomic of at least 1 for READs and atomics, and no more than the device's max_qp_rd_atom"},
    {"the receive for it", "post receives that hold the longest message of the peer; on UD add 40 bytes for the GRH"},
    {"no receive is posted", "post receives before the peer may send: the first ones before the queue pair goes to RTR, each further one "
                             "before the answer that lets the peer go on"},
    {"attr_mask lacks", "fill these attributes in and set their bits; `verbatim explain ibv_modify_qp` shows each change"},
    {"which cannot be changed here", "leave these bits out of attr_mask; `verbatim explain ibv_modify_qp` shows each change"},
    {"no queue pair goes from", "go RESET, INIT, RTR, RTS, one after the other; `verbatim explain ibv_modify_qp` shows each change"},
    {"dest_qp_num ", "dest_qp_num is qp->qp_num of the peer, in host byte order: check what is exchanged, and with ntohl once"},
    {"q_psn ", "a PSN has 24 bits: sq_psn & 0xffffff on one side is rq_psn of the other, in host byte order"},
    {"are accepted from RTS on", "bring the queue pair to RTS first: ibv_modify_qp to INIT, RTR and RTS, and look at what each answers"},
    {"nothing is sent before RTS", "bring the queue pair to RTS first: ibv_modify_qp to INIT, RTR and RTS, and look at what each answers"},
    {"what comes before RTR is dropped", "send only when the peer has told, after its ibv_modify_qp to RTR, that it is ready; and choose a "
                                         "timeout, 14 with retry_cnt 7 is usual, as 0 waits for ever"},
    {"has no receive posted for it (", "post receives before the peer may send; rnr_retry 7 tries for ever, a smaller one ends with an error"},
    {"has no receive posted for them (", "post receives before the peer may send; rnr_retry 7 tries for ever, a smaller one ends with an error"},
    {"so they complete without an entry", "set IBV_SEND_SIGNALED, or sq_sig_all, where a completion is waited for"},
    {"so it completes without an entry", "set IBV_SEND_SIGNALED, or sq_sig_all, where a completion is waited for"},
    {"it overruns:", "give ibv_create_cq room for all requests of all its queue pairs that may be outstanding, and poll often enough"},
    {"needs a GRH (ah_attr.is_global)", "on RoCE set ah_attr.is_global, grh.dgid, grh.sgid_index and grh.hop_limit; there are no LIDs"},
    {"and dgid is", "take the local GID of the same kind and IP version as the peer's: compare the entries of ibv_query_gid_ex on both sides"},
    {"sgid_index", "choose an entry of the GID table that exists: ibv_query_gid_ex, or `show_gids` and `ibv_devinfo -v`"},
    {"dgid is all zeros", "send the peer's GID along with its LID and QP number, and put it into grh.dgid"},
    {"nobody answers for the address of dgid", "check grh.dgid: is the peer's GID meant, and can this host reach its IP address?"},
    {"is no LID of one port", "put the peer's LID (ibv_query_port, in host byte order) into ah_attr.dlid"},
    {"IBV_ACCESS_REMOTE_ATOMIC need IBV_ACCESS_LOCAL_WRITE", "add IBV_ACCESS_LOCAL_WRITE to the access flags"},
    {"are mapped", "register memory that is mapped and, with IBV_ACCESS_LOCAL_WRITE, writable; is the length right?"},
    {"are not mapped", "keep memory mapped as long as it is registered"},
    {"objects of it are left", "destroy what was made of it first: queue pairs, then CQs and regions, then the protection domain"},
    {"memory windows are bound to it", "invalidate or free the windows first"},
    {"port's max_msg_sz", "send it in several messages"},
    {"are in use", "free what is no longer needed, or give the adapter's profile more of them"},
    {"unsignaled:", "set IBV_SEND_SIGNALED at least once in max_send_wr requests and poll its completion: that gives all before it back"},
    {"unacknowledged:", "ibv_ack_cq_events or ibv_ack_async_event for each event that was taken, before the object is destroyed"},
    {"missed-wakeup:", "after ibv_req_notify_cq poll until the CQ is empty, and only then sleep in ibv_get_cq_event"},
    {"send-buffer:", "leave the buffer alone until the completion of its request, or of a later one of that queue, has been polled"},
    {"late-receive:", "post the first receives before the queue pair goes to RTR: before rdma_accept or rdma_connect, or before the peer is told "
                      "that this side is ready"},
    {"write-target:", "wait for the completion of a SEND or WRITE with immediate data behind the WRITE, or make each part tell that it is whole"},
    {"region-in-use:", "deregister memory when all requests that name it have completed"},
    {"receive-buffer:", "leave the buffer alone from ibv_post_recv until its completion has been polled"},
    {"undefined-field:", "look at the status first; of a failed completion use wr_id, status, qp_num and vendor_err alone"},
    {"memory-gone:", "poll the completions of all requests that name the memory, deregister it, and only then give it back"},
    {"threads:", "guard the object with a lock, or do not put it into a thread domain"},
    {"leak:", "destroy in the opposite order of creation: queue pairs, CQs, channels, regions, protection domain, device"},
};

}  // namespace

std::string_view remedy_for(std::string_view text) {
  for (const Remedy& row : kRemedies) {
    if (text.find(row.part) != text.npos) return row.remedy;
  }
  return {};
}

}  // namespace verbatim::observe
