// Work queues and completion queues as the HCA accesses them by DMA. All counters are free-running 32-bit
// producer and consumer numbers. Entry n is at index n mod count; counts are powers of two.
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
  kWqeSignaled = 1 << 0,   // set by the shim for every WQE of a QP created with sq_sig_all
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

// Header of a send WQE; `sge_count` Sge or `inline_length` bytes follow. The ring's stride is the header plus
// room for the QP's largest SGE list or inline data, in whole 64-byte units.
//
// kBindMemoryWindow: address_handle is the window's handle, rkey its new key, remote_va and compare_add its
// start and length in the region's addresses, swap the region's local key, immediate the ibv_access_flags.
//
// kAtomicWrite: swap holds the 8 bytes.
struct SendWqe {
  std::uint64_t wr_id;
  std::uint64_t remote_va;
  std::uint64_t compare_add;
  std::uint64_t swap;
  std::uint32_t rkey;              // remote key; the key to invalidate; or the new key of the window to bind
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
  std::uint64_t posted_ps : 56;  // time of the post, low 56 bits
  static constexpr std::uint64_t kPostedMask = (1ull << 56) - 1;
};
static_assert(sizeof(RecvWqe) == 16);

// Whether the receive was posted after `now_ps`, within the time that a thread can run ahead of the adapter.
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
  std::uint32_t handle;            // handle of the tagged receive
  std::uint32_t unexpected_count;  // with kTagSync: total number of unexpected messages that the program has handled
  TagOpcode opcode;
  std::uint8_t flags;
  std::uint8_t sge_count;
  std::uint8_t reserved[5];
};
static_assert(sizeof(TagOperationWqe) == 48);

// The ring whose slots the completion releases up to its entry.
enum class CqeQueue : std::uint8_t {
  kSend = 0,
  kReceive,  // the QP's receive queue, or its SRQ
  kNone,     // a tag operation or a tagged receive, which SharedReceiveQueueRecord counts
};

// A completion queue entry. The HCA writes `sequence` last: entry n of a ring of c entries is valid when
// sequence == n / c + 1 (mod 2^32) and visible_at_ps has passed on the reader's clock. When the reader
// releases the entry, it stores the time in visible_at_ps.
//
// With CqeQueue::kNone the entry belongs to a tag-matching SRQ: wqe_counter and source_qp are the low and
// high half of the matched tag, srq_number its app_ctx; all are 0 without a match.
struct Cqe {
  std::uint64_t wr_id;
  std::int64_t visible_at_ps;
  std::uint64_t timestamp;      // HCA core clock
  std::uint32_t qpn;            // local QP number
  std::uint32_t byte_length;
  std::uint32_t immediate;      // network byte order; invalidated rkey with kCqeWithInvalidate; flow tag of a frame
  std::uint32_t source_qp;      // UD
  std::uint32_t wqe_counter;    // number of the WQE: all send WQEs up to it are released
  std::uint32_t sequence;
  std::uint16_t source_lid;     // for frames: the VLAN tag stripped from it
  std::uint16_t pkey_index;
  std::uint8_t status;          // ibv_wc_status
  std::uint8_t opcode;          // ibv_wc_opcode
  std::uint8_t flags;           // ibv_wc_flags
  std::uint8_t vendor_error;
  std::uint8_t service_level;
  std::uint8_t dlid_path_bits;
  CqeQueue queue;               // the queue whose entry it releases
  std::uint8_t is_frame;        // an Ethernet frame was received
  std::uint32_t srq_number;
};
static_assert(sizeof(Cqe) == 64);

// Doorbell records: written by the shim, read by the HCA by DMA.
struct QueuePairRecord {
  std::atomic<std::uint32_t> send_producer;
  std::atomic<std::uint32_t> recv_producer;
  // Written by the HCA, with the same delay as its other writes: not 0 while it does not read recv_producer
  // by itself. A change of recv_producer must then be followed by a kReceiveQueue doorbell, or the new
  // entries go unnoticed.
  std::atomic<std::uint32_t> recv_doorbell_wanted;
  // Written by the shim for reports: largest number of outstanding sends, number of posts to a full queue,
  // and (created_from) the return address of the call that created the queue pair.
  std::uint32_t send_most, send_full;
  // Written by the HCA for the shim: not 0 once a message has consumed the first receive, if its post was not
  // certain to precede the message.
  std::uint32_t first_receive_late;
  std::uint64_t created_from;
  std::uint64_t receive_notes;  // address in the program of the array of PostNote, one per slot; 0: none
};
struct SharedReceiveQueueRecord {
  std::atomic<std::uint32_t> producer;
  // Tag matching, written by the HCA: operations executed, and tagged receives removed from the list;
  // free-running.
  std::atomic<std::uint32_t> operations_done;
  std::atomic<std::uint32_t> tags_left;
  std::uint64_t receive_notes;  // as for queue pairs
};
struct CompletionQueueRecord {
  std::atomic<std::uint32_t> consumer;
  // Written by the shim for reports: virtual id of the thread that last armed the CQ, and return addresses of
  // the calls.
  std::uint32_t armed_by;
  std::uint64_t armed_from, created_from;
};
static_assert(sizeof(QueuePairRecord) <= 64 && sizeof(CompletionQueueRecord) <= 64);

// Value of a kCompletionQueueArm doorbell.
inline constexpr std::uint64_t kArmAny = 0;
inline constexpr std::uint64_t kArmSolicited = 1;

}  // namespace verbatim::protocol
