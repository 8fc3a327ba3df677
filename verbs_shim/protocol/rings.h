// Work queues and completion queues as the HCA sees them by DMA. All counters are free-running 32-bit producer
// and consumer numbers; entry n lies at index n mod count, and counts are powers of two.
#pragma once

#include <atomic>
#include <cstdint>

namespace verbatim::protocol {

enum class WqeOpcode : std::uint8_t {
  kSend = 0,
  kSendWithImm,
  kSendWithInvalidate,
  kRdmaWrite,
  kRdmaWriteWithImm,
  kRdmaRead,
  kAtomicCompareSwap,
  kAtomicFetchAdd,
  kLocalInvalidate,
  kBindMemoryWindow,
  kAtomicWrite,
};

enum WqeFlags : std::uint8_t {
  kWqeSignaled = 1 << 0,   // set by the shim for every WQE of a QP made with sq_sig_all
  kWqeSolicited = 1 << 1,
  kWqeFence = 1 << 2,
  kWqeInline = 1 << 3,     // inline_length bytes of data follow the header instead of the SGEs
};

struct Sge {
  std::uint64_t va;
  std::uint32_t length;
  std::uint32_t lkey;
};
static_assert(sizeof(Sge) == 16);

// Of kBindMemoryWindow: address_handle is the window's handle, rkey its new key, remote_va and compare_add say where among
// the region's addresses it begins and how long it is, swap is the region's local key, immediate the ibv_access_flags.
//
// Of kAtomicWrite: swap has the 8 bytes.
//
// Header of a send WQE; `sge_count` Sge or `inline_length` bytes follow at once. The ring's stride is the
// header plus room for the QP's greatest SGE list or inline data, in whole 64-byte units.
struct SendWqe {
  std::uint64_t wr_id;
  std::uint64_t remote_va;
  std::uint64_t compare_add;
  std::uint64_t swap;
  std::uint32_t rkey;              // of the remote side; the key to invalidate, or the new key of the window to bind
  std::uint32_t immediate;         // network byte order, as in ibv_send_wr; rkey for kSendWithInvalidate
  std::uint32_t inline_length;
  std::uint32_t address_handle;    // UD
  std::uint32_t remote_qpn;        // UD
  std::uint32_t remote_qkey;       // UD
  WqeOpcode opcode;
  std::uint8_t flags;
  std::uint8_t sge_count;
  std::uint8_t reserved;
  std::uint32_t remote_srqn;       // XRC
};
static_assert(sizeof(SendWqe) == 64);

struct RecvWqe {
  std::uint64_t wr_id;
  std::uint64_t sge_count : 8;
  std::uint64_t posted_ps : 56;  // the time of the post, its low 56 bits
  static constexpr std::uint64_t kPostedMask = (1ull << 56) - 1;
};
static_assert(sizeof(RecvWqe) == 16);

// Whether it was posted later than at `now_ps`, by no more than a thread can run ahead of the adapter.
inline bool is_posted_later(const RecvWqe& wqe, std::int64_t now_ps) {
  constexpr std::uint64_t kFarthest = 1'000'000'000'000;  // 1 s
  const std::uint64_t ahead = (wqe.posted_ps - static_cast<std::uint64_t>(now_ps)) & RecvWqe::kPostedMask;
  return ahead != 0 && ahead <= kFarthest;
}

enum class TagOpcode : std::uint8_t { kAdd = 0, kDelete, kSync };  // ibv_ops_wr_opcode
enum TagFlags : std::uint8_t { kTagSignaled = 1 << 0, kTagSync = 1 << 1 };  // ibv_ops_flags

// An operation on the list of tagged receives of an SRQ; `sge_count` Sge follow.
struct TagOperationWqe {
  std::uint64_t wr_id;
  std::uint64_t recv_wr_id;
  std::uint64_t tag;
  std::uint64_t mask;
  std::uint32_t handle;            // of the tagged receive
  std::uint32_t unexpected_count;  // with kTagSync: unexpected messages that the program has dealt with, ever
  TagOpcode opcode;
  std::uint8_t flags;
  std::uint8_t sge_count;
  std::uint8_t reserved[5];
};
static_assert(sizeof(TagOperationWqe) == 48);

// Which ring has its slots back up to the completed entry.
enum class CqeQueue : std::uint8_t {
  kSend = 0,
  kReceive,  // of the QP, or of its SRQ
  kNone,     // of a tag operation or a tagged receive, whose entries count in SharedReceiveQueueRecord
};

// A completion queue entry. The HCA fills `sequence` last: entry n of a ring of c entries is valid when
// sequence == n / c + 1 (mod 2^32) and visible_at_ps has passed on the reader's clock. When the reader gives it back it puts the
// time of that into visible_at_ps.
//
// With CqeQueue::kNone it is of a tag matching SRQ: wqe_counter and source_qp are the low and the high half of the matched
// tag, srq_number is the app_ctx beside it; all 0 where nothing was matched.
struct Cqe {
  std::uint64_t wr_id;
  std::int64_t visible_at_ps;
  std::uint64_t timestamp;      // HCA core clock
  std::uint32_t qpn;            // local QP number
  std::uint32_t byte_length;
  std::uint32_t immediate;      // network byte order; invalidated rkey with kCqeWithInvalidate; of a frame its flow tag
  std::uint32_t source_qp;      // UD
  std::uint32_t wqe_counter;    // number of the WQE: every send WQE up to it has its slot back
  std::uint32_t sequence;
  std::uint16_t source_lid;     // of a frame: the VLAN tag that was taken out of it
  std::uint16_t pkey_index;
  std::uint8_t status;          // ibv_wc_status
  std::uint8_t opcode;          // ibv_wc_opcode
  std::uint8_t flags;           // ibv_wc_flags
  std::uint8_t vendor_error;
  std::uint8_t service_level;
  std::uint8_t dlid_path_bits;
  CqeQueue queue;               // whose entry it gives back
  std::uint8_t is_frame;        // what was received is an Ethernet frame
  std::uint32_t srq_number;
};
static_assert(sizeof(Cqe) == 64);

// Doorbell records: written by the shim, read by the HCA by DMA.
struct QueuePairRecord {
  std::atomic<std::uint32_t> send_producer;
  std::atomic<std::uint32_t> recv_producer;
  // Written by the HCA, as late as its other writes: not 0 while it does not look at recv_producer by itself (the QP is in the
  // error state), so that a change of it must be followed by a kReceiveQueue doorbell, or the new entries are not flushed.
  std::atomic<std::uint32_t> recv_doorbell_wanted;
  // Kept by the shim for what is said of the program: sends posted and not given back at the most, how often the queue was full,
  // and the address to which the call that made it returned.
  std::uint32_t send_most, send_full;
  // Written by the HCA, for the shim: not 0 once a message has taken the first receive, which was posted too late to be sure of.
  std::uint32_t first_receive_late;
  std::uint64_t created_from;
  std::uint64_t receive_notes;  // address in the program of a PostNote for each receive; 0: there are none
};
struct SharedReceiveQueueRecord {
  std::atomic<std::uint32_t> producer;
  // Of tag matching, written by the HCA: operations executed, and tagged receives that are no longer in the list; free-running.
  std::atomic<std::uint32_t> operations_done;
  std::atomic<std::uint32_t> tags_left;
  std::uint64_t receive_notes;  // as of queue pairs
};
struct CompletionQueueRecord {
  std::atomic<std::uint32_t> consumer;
  // As for queue pairs: who asked for an event last, by its virtual id, and the addresses to which the calls returned.
  std::uint32_t armed_by;
  std::uint64_t armed_from, created_from;
};
static_assert(sizeof(QueuePairRecord) <= 64 && sizeof(CompletionQueueRecord) <= 64);

// Value of a kCompletionQueueArm doorbell.
inline constexpr std::uint64_t kArmAny = 0;
inline constexpr std::uint64_t kArmSolicited = 1;

}  // namespace verbatim::protocol
