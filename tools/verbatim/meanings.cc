#include "tools/verbatim/meanings.h"

namespace verbatim::cli {

namespace {

constexpr Meaning kCompletions[] = {
    {"IBV_WC_SUCCESS", "The request is complete. Of a SEND, WRITE or atomic of a reliable connection: the peer's adapter has acknowledged it; "
                       "of an unreliable service: it has left. The buffers belong to the program again."},
    {"IBV_WC_LOC_LEN_ERR", "A length does not fit. At the receiver: a message is longer than the receive that it took. At the sender: the "
                           "message is longer than the service can carry.",
     {"The receive is too short for the message; on UD, 40 bytes for the GRH were forgotten.",
      "A UD message is longer than the path MTU.",
      "A message is longer than the port's max_msg_sz.",
      "The scatter list of an atomic is not 8 bytes long."}},
    {"IBV_WC_LOC_QP_OP_ERR", "The queue pair cannot do what the request asks for, as it stands.",
     {"The operation does not exist for this type of queue pair.",
      "max_rd_atomic is 0, and a READ or atomic was posted.",
      "The request names something that does not exist (an address handle, a shared receive queue)."}},
    {"IBV_WC_LOC_EEC_OP_ERR", "An error of an end-to-end context, as reliable datagrams have them. No adapter of today has any."},
    {"IBV_WC_LOC_PROT_ERR", "A key in the scatter/gather list of this side's own request does not allow the access.",
     {"The lkey is that of another region, or an rkey, or was never filled in.",
      "The buffer does not lie wholly within the region.",
      "The region is of another protection domain than the queue pair.",
      "A receive, a READ or an atomic writes to the buffer, and the region has no IBV_ACCESS_LOCAL_WRITE.",
      "The region has been deregistered before the request was complete."}},
    {"IBV_WC_WR_FLUSH_ERR", "The request was not done, since the queue pair is in state ERR. It is a consequence, not a cause: look for the "
                            "first completion with another status, on either side.",
     {"An earlier request of this queue pair failed.",
      "The program, or rdma_disconnect, moved the queue pair to ERR: then this is how queues are emptied.",
      "The request was posted to a queue pair that was in ERR already."}},
    {"IBV_WC_MW_BIND_ERR", "A memory window could not be bound.",
     {"The region has no IBV_ACCESS_MW_BIND, or the window asks for remote writes and the region has no IBV_ACCESS_LOCAL_WRITE.",
      "The range is not within the region.",
      "Window, region and queue pair are of different protection domains.",
      "A window of type 2 is bound already; it is invalidated first."}},
    {"IBV_WC_BAD_RESP_ERR", "The peer's answer is not what was asked for.",
     {"A defect of an adapter or a fabric; programs hardly bring it about."}},
    {"IBV_WC_LOC_ACCESS_ERR", "The receive of a WRITE with immediate could not be used: a key of this side does not allow the access.",
     {"The lkey of the receive is wrong; see IBV_WC_LOC_PROT_ERR."}},
    {"IBV_WC_REM_INV_REQ_ERR", "The peer has refused the request as one that makes no sense there (NAK, invalid request).",
     {"The message is longer than the receive posted for it.",
      "path_mtu differs between the two sides.",
      "More READs and atomics are outstanding than max_dest_rd_atomic of the peer allows.",
      "An atomic's address is not a multiple of 8.",
      "The peer's queue pair does not serve this operation."}},
    {"IBV_WC_REM_ACCESS_ERR", "The peer has refused a WRITE, READ or atomic: rkey and address do not allow it (NAK, remote access error). Both "
                              "queue pairs are then in ERR.",
     {"The region was registered without the remote right: IBV_ACCESS_REMOTE_WRITE, _READ or _ATOMIC.",
      "The rkey is in the wrong byte order, is an lkey, or is that of another region.",
      "The address is in the wrong byte order, or the range goes beyond the region's end.",
      "qp_access_flags of the peer's queue pair lack the right.",
      "Region and queue pair of the peer are of different protection domains.",
      "The region has been deregistered, or its process has ended."}},
    {"IBV_WC_REM_OP_ERR", "The peer could not finish the request for a reason of its own (NAK, remote operational error).",
     {"A receive that the peer posted has a wrong lkey, or no IBV_ACCESS_LOCAL_WRITE.",
      "The peer's adapter has failed."}},
    {"IBV_WC_RETRY_EXC_ERR", "The peer has not answered, however often the packets were sent: retry_cnt times more, each time after the timeout "
                             "4.096 us * 2^timeout. The queue pair is then in ERR.",
     {"The peer's queue pair was not in RTR yet (or is in ERR, or destroyed) when the packets came.",
      "dest_qp_num, the LID or the GID names another queue pair or port: a wrong byte order, or an exchange of addresses that went wrong.",
      "rq_psn of one side is not sq_psn of the other.",
      "On RoCE: the GIDs are of different kinds or IP versions, or is_global, hop_limit or the VLAN is wrong.",
      "The peer's program has ended, or its link is down.",
      "timeout and retry_cnt are too small for the path: timeout 14 and retry_cnt 7 are usual. timeout 0 waits for ever.",
      "Packets are lost: on lossy Ethernet, all of a window go again for each."}},
    {"IBV_WC_RNR_RETRY_EXC_ERR", "The peer had no receive for the message (receiver not ready), at none of the rnr_retry tries. The queue pair "
                                 "is then in ERR.",
     {"The peer posts its receives too late: post them before going to RTR.",
      "The peer posts too few, or not again after each that a message took.",
      "A WRITE with immediate takes a receive, too.",
      "rnr_retry is small or 0; 7 means for ever. min_rnr_timer of the receiver says how long a sender waits."}},
    {"IBV_WC_LOC_RDD_VIOL_ERR", "An error of reliable datagrams. No adapter of today has any."},
    {"IBV_WC_REM_INV_RD_REQ_ERR", "An error of reliable datagrams. No adapter of today has any."},
    {"IBV_WC_REM_ABORT_ERR", "The operation was aborted at the other side.", {"The peer's queue pair left its state while the request was under way."}},
    {"IBV_WC_INV_EECN_ERR", "An error of an end-to-end context. No adapter of today has any."},
    {"IBV_WC_INV_EEC_STATE_ERR", "An error of an end-to-end context. No adapter of today has any."},
    {"IBV_WC_FATAL_ERR", "The adapter has failed (IBV_EVENT_DEVICE_FATAL).", {"A device error: the context must be closed and opened again."}},
    {"IBV_WC_RESP_TIMEOUT_ERR", "No answer came in time, of an operation that waits for one otherwise than by retries."},
    {"IBV_WC_GENERAL_ERR", "An error that has no other name; the adapter's vendor_err may tell."},
    {"IBV_WC_TM_ERR", "Tag matching has failed.", {"A tag operation went to a list that is full or out of step (IBV_WC_TM_SYNC_REQ)."}},
    {"IBV_WC_TM_RNDV_INCOMPLETE", "The announcement of a rendezvous message has come, but its data must be fetched by the program itself."},
};

constexpr Meaning kAsync[] = {
    {"IBV_EVENT_CQ_ERR", "A completion queue has overrun, or cannot be written. Nothing completes on it any more, and its queue pairs fail.",
     {"The CQ is smaller than the requests of all its queue pairs together that may be outstanding, receives and flushed ones included.",
      "It is not polled often enough."}},
    {"IBV_EVENT_QP_FATAL", "A queue pair could not report an error by a completion, and is in ERR.",
     {"Its CQ has overrun.", "Its receive queue, or the adapter, has failed."}},
    {"IBV_EVENT_QP_REQ_ERR", "The queue pair, as a responder, was sent a request that makes no sense to it, and is in ERR. The peer sees "
                             "IBV_WC_REM_INV_REQ_ERR.",
     {"See IBV_WC_REM_INV_REQ_ERR for what the peer has done."}},
    {"IBV_EVENT_QP_ACCESS_ERR", "The queue pair, as a responder, was sent a request that rkey and address do not allow, and is in ERR. The peer "
                                "sees IBV_WC_REM_ACCESS_ERR.",
     {"See IBV_WC_REM_ACCESS_ERR for what the peer has done."}},
    {"IBV_EVENT_COMM_EST", "A packet has come on a queue pair in RTR: the peer is there. A program that waits for its last message of the "
                           "connection's set-up may go to RTS."},
    {"IBV_EVENT_SQ_DRAINED", "The send queue of a queue pair in SQD has no request under way any more; its attributes may be changed now."},
    {"IBV_EVENT_PATH_MIG", "The connection has moved to its alternate path."},
    {"IBV_EVENT_PATH_MIG_ERR", "The connection could not move to its alternate path.", {"The alternate path was not loaded, or not armed on both sides."}},
    {"IBV_EVENT_DEVICE_FATAL", "The adapter has failed. Everything of this context fails; close it and open the device again."},
    {"IBV_EVENT_PORT_ACTIVE", "A port carries data now."},
    {"IBV_EVENT_PORT_ERR", "A port has lost its link, or is no longer active.", {"A cable, the other end, or the subnet manager."}},
    {"IBV_EVENT_LID_CHANGE", "The subnet manager has given the port another LID; paths to the old one are gone."},
    {"IBV_EVENT_PKEY_CHANGE", "The port's P_Key table has changed; pkey_index may choose another partition now."},
    {"IBV_EVENT_SM_CHANGE", "Another subnet manager manages the subnet."},
    {"IBV_EVENT_SRQ_ERR", "A shared receive queue has failed; its queue pairs go to ERR."},
    {"IBV_EVENT_SRQ_LIMIT_REACHED", "Fewer receives than srq_limit are left in the shared receive queue. It is told once: post more, then set "
                                    "srq_limit again (ibv_modify_srq)."},
    {"IBV_EVENT_QP_LAST_WQE_REACHED", "A queue pair with a shared receive queue is in ERR and takes no receive any more: when its CQ is empty, it "
                                      "may be destroyed and nothing is lost."},
    {"IBV_EVENT_CLIENT_REREGISTER", "The subnet manager asks for all registrations (multicast groups, services) anew."},
    {"IBV_EVENT_GID_CHANGE", "The port's GID table has changed; sgid_index may mean another address now."},
    {"IBV_EVENT_WQ_FATAL", "A work queue has failed."},
};

constexpr Meaning kChecks[] = {
    {"missed-wakeup", "A thread armed a CQ that held completions and slept for its next event. Arming raises no event for what is there already.",
     {"Poll once more between ibv_req_notify_cq and ibv_get_cq_event."}},
    {"send-buffer", "The buffer of a send was changed between post and completion. The adapter may read it at any time until then, and again.",
     {"Use another buffer, or IBV_SEND_INLINE, whose bytes are copied at the post."}},
    {"receive-buffer",
     "The buffer of a receive was written by the program between ibv_post_recv and the message that came there. From the post to the "
     "poll of its completion it is the adapter's, which may place the message before or after such a write.",
     {"Prepare the buffer before it is posted, and use another one meanwhile.",
      "The buffer is posted again too early: read what came first, then post."}},
    {"undefined-field",
     "A program decided by a field of a completion that had failed. ibv_poll_cq(3) defines wr_id, status, qp_num and vendor_err of such; "
     "what opcode, byte_len, imm_data, wc_flags and the others hold is the adapter's affair.",
     {"Look at status first. Tell what a failed request was by its wr_id."}},
    {"late-receive",
     "The first receive of a connection was posted when the queue pair could take messages already, and before it sent the message that "
     "came there the peer had heard of nothing that this side has done since. Whether the receive is there in time is luck: with librdmacm a "
     "peer may send as soon as it is established, which may be before rdma_accept returns. Without luck the sender gets RNR NAKs, and "
     "IBV_WC_RNR_RETRY_EXC_ERR when its rnr_retry is used up.",
     {"Post receives when the queue pair is in INIT (after rdma_create_qp, ahead of rdma_accept or rdma_connect).",
      "Tell the peer when they are posted, by a message or over a socket, and let it wait for that.",
      "rnr_retry 7 (rnr_retry_count of rdma_conn_param) sends again for ever."}},
    {"write-target",
     "A thread waited in a loop until bytes in memory changed that an adapter places, mostly the last of a WRITE, and then read others of "
     "the same packet without a completion. The bytes of a message come to memory in any order; most adapters place them upwards, so it "
     "goes well for long. Who reads them to find out whether they are whole, by sums or sequence numbers, makes no mistake: the check is "
     "off unless it is asked for.",
     {"Send a SEND, or a WRITE with immediate data, behind it and wait for its completion.",
      "Give each word or line a number or flag of its own, or the whole a sum, and look again while it is wrong."}},
    {"region-in-use", "A region was deregistered while requests that are not complete name it.", {"Deregister after the last completion."}},
    {"memory-gone",
     "Memory was given back to the system (munmap, mremap, brk, madvise, shmdt, the stack of a thread that ended) or to the heap (free, realloc) while a request of a "
     "registered region named it. The adapter reads or writes what was there, and the program's new memory at that place is another.",
     {"Poll the completions of all requests that name it first, deregister the region, then give it back.",
      "A buffer on the stack of a thread or in memory that a library frees: keep it elsewhere."}},
    {"unacknowledged", "A queue is destroyed whose event has been taken and not acknowledged: ibv_destroy_cq, _qp and _srq wait for that.",
     {"ibv_ack_cq_events and ibv_ack_async_event, by the thread that took it, before."}},
    {"unsignaled", "A send queue is full of requests that are not signaled. Places come back only with a completion that is polled.",
     {"Set IBV_SEND_SIGNALED at least once in max_send_wr requests, and poll."}},
    {"threads", "Two threads use an object at once that was promised to one at a time.", {"A lock, or no thread domain."}},
    {"remote-race",
     "Two accesses to the same bytes of a peer, one of them a WRITE, were under way at once, or the host of the later one had heard "
     "nothing from which it could know that the earlier one is complete. Nothing orders them: which comes first is chance.",
     {"A WRITE behind a READ of the same queue pair: give it IBV_SEND_FENCE, or post it when the READ has completed.",
      "Two queue pairs have no order between them: wait for the completion of the first, or use one queue pair.",
      "Two hosts: a message behind the completion of the first, a lock, or an atomic operation. Time that has passed is no order."}},
    {"forked-buffer",
     "A forked process failed, and adapters had written to private memory of the process it is a copy of since then. From Linux 5.12 on "
     "that one keeps the pages it has registered, and its adapter writes there; the copy has its own pages, as they were at the fork "
     "(older kernels could leave the adapter writing to the copy's). So has it with verbs objects: none of them works in the copy.",
     {"Map what both are to see with MAP_SHARED before the fork.",
      "Read the message before the fork, hand it over by a pipe, or use threads."}},
    {"forked-context",
     "A forked process uses a queue of a device that the process it is a copy of has opened. Queues lie in memory of which the copy has "
     "its own, and the adapter looks at the opener's; ibv_fork_init(3) protects the parent, it does not share anything.",
     {"Open the device and make all objects in the process that uses them, after the fork.",
      "Or use threads, or hand the work to the parent by a pipe or a socket."}},
    {"leak", "A program has ended with objects that it made and did not destroy.", {"Destroy in the opposite order of creation."}},
};

}  // namespace

std::span<const Meaning> completion_meanings() { return kCompletions; }
std::span<const Meaning> async_meanings() { return kAsync; }
std::span<const Meaning> check_meanings() { return kChecks; }

}  // namespace verbatim::cli
