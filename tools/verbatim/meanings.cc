#include "tools/verbatim/meanings.h"

namespace verbatim::cli {

namespace {

constexpr Meaning kCompletions[] = {
    {"IBV_WC_SUCCESS", "The request is complete. On a reliable connection the peer's adapter has acknowledged it; on an unreliable service "
                       "it has been sent. The program may use the buffers again."},
    {"IBV_WC_LOC_LEN_ERR", "A length does not fit. At the receiver: the message is longer than the receive it was placed in. At the sender: "
                           "the message is longer than the service can carry.",
     {"The receive is too short for the message; on UD it needs 40 bytes more for the GRH.",
      "A UD message is longer than the path MTU.",
      "A message is longer than the port's max_msg_sz.",
      "The scatter list of an atomic is not 8 bytes long."}},
    {"IBV_WC_LOC_QP_OP_ERR", "The queue pair cannot do what the request asks for.",
     {"The operation does not exist for this type of queue pair.",
      "max_rd_atomic is 0, and a READ or atomic was posted.",
      "The request names something that does not exist (an address handle, a shared receive queue)."}},
    {"IBV_WC_LOC_EEC_OP_ERR", "An error of an end-to-end context, as reliable datagrams have them. Current adapters have none."},
    {"IBV_WC_LOC_PROT_ERR", "A key in the scatter/gather list of this side's own request does not allow the access.",
     {"The lkey belongs to another region, is an rkey, or was never set.",
      "The buffer is not wholly within the region.",
      "The region belongs to another protection domain than the queue pair.",
      "A receive, a READ or an atomic writes to the buffer, and the region has no IBV_ACCESS_LOCAL_WRITE.",
      "The region was deregistered before the request was complete."}},
    {"IBV_WC_WR_FLUSH_ERR", "The request was not executed, since the queue pair is in state ERR. This is a consequence, not a cause: look for "
                            "the first completion with another status, on both sides.",
     {"An earlier request of this queue pair failed.",
      "The program, or rdma_disconnect, moved the queue pair to ERR, which flushes its queues.",
      "The request was posted when the queue pair was already in ERR."}},
    {"IBV_WC_MW_BIND_ERR", "A memory window could not be bound.",
     {"The region has no IBV_ACCESS_MW_BIND, or the window asks for remote writes and the region has no IBV_ACCESS_LOCAL_WRITE.",
      "The range is not within the region.",
      "Window, region and queue pair belong to different protection domains.",
      "A window of type 2 is already bound; invalidate it first."}},
    {"IBV_WC_BAD_RESP_ERR", "The peer's response does not match the request.",
     {"A defect of an adapter or of the fabric; a program can hardly cause it."}},
    {"IBV_WC_LOC_ACCESS_ERR", "The receive of a WRITE with immediate could not be used: a key of this side does not allow the access.",
     {"The lkey of the receive is wrong; see IBV_WC_LOC_PROT_ERR."}},
    {"IBV_WC_REM_INV_REQ_ERR", "The peer has refused the request as invalid (NAK, invalid request).",
     {"The message is longer than the receive posted for it.",
      "path_mtu differs between the two sides.",
      "More READs and atomics are outstanding than max_dest_rd_atomic of the peer allows.",
      "An atomic's address is not a multiple of 8.",
      "The peer's queue pair does not serve this operation."}},
    {"IBV_WC_REM_ACCESS_ERR", "The peer has refused a WRITE, READ or atomic, because rkey and address do not allow it (NAK, remote access "
                              "error). Both queue pairs are then in ERR.",
     {"The region was registered without the remote right: IBV_ACCESS_REMOTE_WRITE, _READ or _ATOMIC.",
      "The rkey is in the wrong byte order, is an lkey, or belongs to another region.",
      "The address is in the wrong byte order, or the range goes beyond the region's end.",
      "The right is missing in qp_access_flags of the peer's queue pair.",
      "Region and queue pair of the peer belong to different protection domains.",
      "The region was deregistered, or its process has ended."}},
    {"IBV_WC_REM_OP_ERR", "The peer could not finish the request because of an error on its side (NAK, remote operational error).",
     {"A receive that the peer posted has a wrong lkey, or no IBV_ACCESS_LOCAL_WRITE.",
      "The peer's adapter has failed."}},
    {"IBV_WC_RETRY_EXC_ERR", "The peer has not answered, although the packets were sent again retry_cnt times, each after the timeout of "
                             "4.096 us * 2^timeout. The queue pair is then in ERR.",
     {"The peer's queue pair was not yet in RTR, was in ERR, or had been destroyed when the packets arrived.",
      "dest_qp_num, the LID or the GID names another queue pair or port: the byte order is wrong, or the exchange of addresses failed.",
      "rq_psn of one side does not equal sq_psn of the other.",
      "On RoCE: the GIDs are of different kinds or IP versions, or is_global, hop_limit or the VLAN is wrong.",
      "The peer's program has ended, or its link is down.",
      "timeout and retry_cnt are too small for the path: timeout 14 with retry_cnt 7 is usual; timeout 0 waits without limit.",
      "Packets are lost: on lossy Ethernet each loss makes all packets of a window go again."}},
    {"IBV_WC_RNR_RETRY_EXC_ERR", "The peer had no receive posted for the message (receiver not ready) at the first attempt and at all rnr_retry "
                                 "retries. The queue pair is then in ERR.",
     {"The peer posts its receives too late: post them before going to RTR.",
      "The peer posts too few receives, or no new one for each that a message has taken.",
      "A WRITE with immediate data also takes a receive.",
      "rnr_retry is small or 0; 7 means without limit. min_rnr_timer of the receiver says how long a sender waits between retries."}},
    {"IBV_WC_LOC_RDD_VIOL_ERR", "An error of the reliable datagram service. Current adapters have none."},
    {"IBV_WC_REM_INV_RD_REQ_ERR", "An error of the reliable datagram service. Current adapters have none."},
    {"IBV_WC_REM_ABORT_ERR", "The operation was aborted at the other side.", {"The peer's queue pair changed its state while the request was in progress."}},
    {"IBV_WC_INV_EECN_ERR", "An error of an end-to-end context. Current adapters have none."},
    {"IBV_WC_INV_EEC_STATE_ERR", "An error of an end-to-end context. Current adapters have none."},
    {"IBV_WC_FATAL_ERR", "The adapter has failed (IBV_EVENT_DEVICE_FATAL).", {"A device error: close the context and open the device again."}},
    {"IBV_WC_RESP_TIMEOUT_ERR", "An operation that is not repeated got no answer in time."},
    {"IBV_WC_GENERAL_ERR", "An error without a status of its own; vendor_err may say more."},
    {"IBV_WC_TM_ERR", "Tag matching has failed.", {"A tag operation was posted to a list that is full or out of sync (IBV_WC_TM_SYNC_REQ)."}},
    {"IBV_WC_TM_RNDV_INCOMPLETE", "The header of a rendezvous message has arrived; the program must fetch the data itself."},
};

constexpr Meaning kAsync[] = {
    {"IBV_EVENT_CQ_ERR", "A completion queue has overrun or cannot be written. Nothing completes on it any more, and its queue pairs fail.",
     {"The CQ has fewer entries than all its queue pairs together may have outstanding requests, including receives and flushed requests.",
      "It is not polled often enough."}},
    {"IBV_EVENT_QP_FATAL", "A queue pair failed without a completion that could report the error, and is in ERR.",
     {"Its CQ has overrun.", "Its receive queue, or the adapter, has failed."}},
    {"IBV_EVENT_QP_REQ_ERR", "The queue pair received an invalid request as a responder, and is in ERR. The peer gets IBV_WC_REM_INV_REQ_ERR.",
     {"See IBV_WC_REM_INV_REQ_ERR for the peer's mistake."}},
    {"IBV_EVENT_QP_ACCESS_ERR", "The queue pair received a request as a responder that rkey and address do not allow, and is in ERR. The peer gets "
                                "IBV_WC_REM_ACCESS_ERR.",
     {"See IBV_WC_REM_ACCESS_ERR for the peer's mistake."}},
    {"IBV_EVENT_COMM_EST", "A packet has arrived at a queue pair in RTR, so the peer is connected. A program that still waits for the last "
                           "message of the connection's set-up may move the queue pair to RTS."},
    {"IBV_EVENT_SQ_DRAINED", "The send queue of a queue pair in SQD has no outstanding request any more; its attributes may be changed now."},
    {"IBV_EVENT_PATH_MIG", "The connection has moved to its alternate path."},
    {"IBV_EVENT_PATH_MIG_ERR", "The connection could not move to its alternate path.", {"The alternate path was not loaded, or was not armed on both sides."}},
    {"IBV_EVENT_DEVICE_FATAL", "The adapter has failed. Everything of this context fails; close it and open the device again."},
    {"IBV_EVENT_PORT_ACTIVE", "A port has become active."},
    {"IBV_EVENT_PORT_ERR", "A port has lost its link, or is no longer active.", {"The cable, the other end of the link, or the subnet manager."}},
    {"IBV_EVENT_LID_CHANGE", "The subnet manager has given the port another LID; paths to the old one are gone."},
    {"IBV_EVENT_PKEY_CHANGE", "The port's P_Key table has changed; pkey_index may choose another partition now."},
    {"IBV_EVENT_SM_CHANGE", "Another subnet manager manages the subnet."},
    {"IBV_EVENT_SRQ_ERR", "A shared receive queue has failed; its queue pairs go to ERR."},
    {"IBV_EVENT_SRQ_LIMIT_REACHED", "Fewer receives than srq_limit are left in the shared receive queue. The event is raised once: post more receives, "
                                    "then set srq_limit again (ibv_modify_srq)."},
    {"IBV_EVENT_QP_LAST_WQE_REACHED", "A queue pair with a shared receive queue is in ERR and takes no more receives: once its CQ is empty, it may "
                                      "be destroyed without losing a completion."},
    {"IBV_EVENT_CLIENT_REREGISTER", "The subnet manager asks programs to repeat all registrations (multicast groups, services)."},
    {"IBV_EVENT_GID_CHANGE", "The port's GID table has changed; sgid_index may mean another address now."},
    {"IBV_EVENT_WQ_FATAL", "A work queue has failed."},
};

constexpr Meaning kChecks[] = {
    {"missed-wakeup", "A thread armed a CQ that held completions and slept until its next event. Arming raises no event for completions that are already there.",
     {"Poll once more between ibv_req_notify_cq and ibv_get_cq_event."}},
    {"send-buffer", "The buffer of a send was changed between post and completion. Until the completion the adapter may read it at any time, and more than once.",
     {"Use another buffer, or IBV_SEND_INLINE, whose bytes are copied at the post."}},
    {"receive-buffer",
     "The program wrote to the buffer of a receive between ibv_post_recv and the message for it. From the post to the poll of the "
     "completion the buffer belongs to the adapter, which may place the message before or after such a write.",
     {"Fill the buffer before it is posted, and use another one in the meantime.",
      "Read the message first, then post the buffer again."}},
    {"undefined-field",
     "A program made a decision by an undefined field of a failed completion. ibv_poll_cq(3) defines only wr_id, status, qp_num and "
     "vendor_err of a failed one; opcode, byte_len, imm_data, wc_flags and the others may hold anything.",
     {"Check the status first. Identify a failed request by its wr_id."}},
    {"late-receive",
     "The first receive of a connection was posted when messages could already arrive, and the peer could not know of it before it "
     "sent. Only timing decides whether the receive is posted first: with librdmacm a peer may send as soon as the connection is established, which "
     "may be before rdma_accept returns. If the message arrives first, the sender gets RNR NAKs, and IBV_WC_RNR_RETRY_EXC_ERR when its "
     "rnr_retry is used up.",
     {"Post receives when the queue pair is in INIT (after rdma_create_qp, ahead of rdma_accept or rdma_connect).",
      "Notify the peer when they are posted, by a message or over a socket, and let the peer wait for that.",
      "rnr_retry 7 (rnr_retry_count of rdma_conn_param) repeats without limit."}},
    {"write-target",
     "A thread waited in a loop until an adapter had changed bytes in memory, usually the last of a WRITE, and then read other bytes of "
     "the same packet without a completion. The bytes of a message reach memory in any order; most adapters write ascending addresses, so "
     "this works for a long time. A program that checks by sums or sequence numbers whether the data is complete makes no mistake, so the "
     "check is off by default.",
     {"Post a SEND, or a WRITE with immediate data, after the WRITE and wait for its completion.",
      "Give each word or line its own number or flag, or the whole a checksum, and read again while it is wrong."}},
    {"region-in-use", "A region was deregistered while incomplete requests still use it.", {"Deregister the region after the last completion."}},
    {"memory-gone",
     "Memory was returned to the system (munmap, mremap, brk, madvise, shmdt, the stack of a thread that ended) or to the heap (free, "
     "realloc) while an outstanding request used it. The adapter still accesses the old memory, not what the program maps there later.",
     {"First poll the completions of all requests that use it, then deregister the region, then free it.",
      "Do not use buffers on the stack of a thread, or in memory that a library frees."}},
    {"unacknowledged", "A queue is destroyed although one of its events has been taken and not acknowledged: ibv_destroy_cq, _qp and _srq return only after the acknowledgement.",
     {"Call ibv_ack_cq_events or ibv_ack_async_event for each event before the queue is destroyed."}},
    {"unsignaled", "A send queue is full of requests that are not signaled. Only a polled completion frees slots of the queue.",
     {"Set IBV_SEND_SIGNALED at least once in max_send_wr requests, and poll."}},
    {"threads", "Two threads use an object at once although the program promised that only one thread at a time would.", {"Use a lock, or no thread domain."}},
    {"remote-race",
     "Two accesses to the same bytes of a peer, one of them a WRITE, were in progress at once, or the host of the later one had "
     "received nothing that showed that the earlier one was complete. Their order is not defined.",
     {"A WRITE after a READ on the same queue pair: give it IBV_SEND_FENCE, or post it when the READ has completed.",
      "Two queue pairs have no order between them: wait for the completion of the first, or use one queue pair.",
      "Two hosts: use a message after the completion of the first access, a lock, or an atomic operation. A delay is no order."}},
    {"forked-buffer",
     "A forked process failed, and since the fork adapters had written to private memory of the original process. From Linux 5.12 on "
     "the original keeps the registered pages, and the adapter writes there; the copy has its own pages with the bytes from the fork "
     "(with older kernels the adapter could write to the copy's pages). Verbs objects do not work in the copy either.",
     {"Map memory that both must see with MAP_SHARED before the fork.",
      "Read the message before the fork, pass it through a pipe, or use threads."}},
    {"forked-context",
     "A forked process uses a queue of a device that the original process has opened. The copy has its own memory for the queues, and "
     "the adapter reads that of the original; ibv_fork_init(3) protects the parent and shares nothing.",
     {"Open the device and make all objects in the process that uses them, after the fork.",
      "Or use threads, or pass the work to the parent through a pipe or a socket."}},
    {"leak", "A program has ended without destroying objects that it created.", {"Destroy them in the reverse order of creation."}},
};

}  // namespace

std::span<const Meaning> completion_meanings() { return kCompletions; }
std::span<const Meaning> async_meanings() { return kAsync; }
std::span<const Meaning> check_meanings() { return kChecks; }

}  // namespace verbatim::cli
