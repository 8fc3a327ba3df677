// The library's representation of verbs objects. Each object begins with the public struct that the program
// sees, is allocated in the shim's own heap, and carries its kind. A handle that is used after its
// destruction is refused instead of dereferenced.
//
// Locks: one thread of a simulated world runs at a time, and the token is handed over only inside runtime
// calls (spend, ring_doorbell, command, system_call). Code between two runtime calls is therefore atomic and
// takes no lock. Only sessions of several API calls, wr_start … wr_complete and start_poll … end_poll, hold a
// SessionLock. A thread that finds it taken lets virtual time pass, so that the holder makes progress.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "verbs_shim/protocol/commands.h"
#include "verbs_shim/protocol/rings.h"
#include "verbs_shim/runtime/runtime.h"
#include "verbs_shim/verbs/checks.h"
#include "verbs_shim/verbs/refusal.h"
#include "verbs_shim/verbs/verbs_api.h"

namespace verbatim::verbs {

enum class Kind : std::uint32_t {
  kNone = 0,
  kContext = 0x56000001,
  kPd,
  kMr,
  kChannel,
  kCq,
  kQp,
  kSrq,
  kAh,
  kMw,
  kXrcd,
  kTd,
  kDm,
  kWq,
  kRwqTable,
  kFlow,
  kCounters,
  kBuffer,
};

class SessionLock {
 public:
  // Waits until no other thread is inside a session. The caller's code up to its next runtime call is then
  // outside every session.
  void wait() {
    while (held_) shim::spend(kRetryPs);
  }
  void acquire() {
    wait();
    held_ = true;
  }
  void release() { held_ = false; }

 private:
  // Time between two attempts of a waiting thread.
  static constexpr std::int64_t kRetryPs = 10'000;
  bool held_;
};

struct Device {
  ibv_device base;
  // At the offset of a vendor library's operations (struct verbs_device::ops); points to zeros.
  const void* foreign_ops;
  std::uint64_t node_guid;  // host byte order
  std::uint32_t index;
  std::uint32_t port_count;
  std::uint32_t vendor_id;  // as in ibv_device_attr
};
static_assert(offsetof(Device, foreign_ops) == 664);

struct Qp;
struct Srq;
struct Wq;

struct Context {
  static constexpr Kind kKind = Kind::kContext;
  static constexpr std::uint32_t kBuckets = 1024;
  verbs_context verbs;
  Kind kind;
  std::uint32_t handle;
  std::uint32_t process;         // that opened the device; only this process can use the device's objects
  std::uint64_t core_clock_khz;  // the HCA's; 0 until queried
  Qp* qps[kBuckets];             // by number
  Srq* srqs;
  Wq* wqs;
};
static_assert(offsetof(Context, verbs) == 0 && sizeof(verbs_context) == 648);

struct Td {
  static constexpr Kind kKind = Kind::kTd;
  ibv_td base;
  Kind kind;
  std::uint32_t users;  // parent domains
};

// A protection domain, or a parent domain, which is an alias of its protection domain and has the same
// handle.
struct Pd {
  static constexpr Kind kKind = Kind::kPd;
  ibv_pd base;
  Kind kind;
  Pd* protection_domain;  // parent domains only
  Td* td;                 // parent domains only; may be nullptr
  std::uint32_t users;    // objects in a parent domain, or parent domains of a protection domain
  // Parent domains only: the program's allocator and its release function, or nullptr.
  void* (*allocate)(ibv_pd*, void*, std::size_t, std::size_t, std::uint64_t);
  void (*release)(ibv_pd*, void*, void*, std::uint64_t);
  void* allocator_context;
};

// Memory that the program's allocator provided for an object in a parent domain: for its rings, and for its
// record; nullptr where it chose the default. The memory stays unused, because the real rings are in memory
// shared with the adapter.
struct DomainMemory {
  void *rings, *record;
};

struct Mr {
  static constexpr Kind kKind = Kind::kMr;
  ibv_mr base;
  Kind kind;
  std::uint32_t process;  // that created it
  bool is_on_demand;
  Mr *previous, *next;  // list of all regions
};

struct Channel {
  static constexpr Kind kKind = Kind::kChannel;
  ibv_comp_channel base;
  Kind kind;
};

struct Cq {
  static constexpr Kind kKind = Kind::kCq;
  ibv_cq_ex base;  // its first part is an ibv_cq
  Kind kind;
  ibv_pd* parent_domain;  // in which it was created, or nullptr
  DomainMemory domain_memory;
  std::uint32_t number;
  protocol::Cqe* ring;
  std::uint32_t entries;      // a power of two
  std::uint32_t entries_log;  // its logarithm
  std::uint32_t consumer;     // entries taken; stored in the record when the call that took them ends
  protocol::CompletionQueueRecord* record;
  SessionLock session;
  protocol::Cqe current;  // entry of start_poll and next_poll
  // Events that the program has read; the destruction of the CQ waits until as many are acknowledged.
  std::uint32_t completion_events;
  std::uint32_t async_events;
  std::uint32_t event_taker;  // virtual id of the thread that read the last one
  SingleUse single;
};

// Completions from before a queue pair's RESET that may still be in its CQ; they release no slots.
struct StaleCompletions {
  bool any;
  std::uint32_t end;  // number of the first entry of the CQ behind them
};

struct SendQueue {
  std::byte* ring;
  std::uint32_t entries, stride;
  std::uint32_t max_wr, max_sge, max_inline;
  std::uint32_t producer;   // WQEs written
  std::uint32_t reclaimed;  // WQEs whose slots have been released
  StaleCompletions stale;
};

struct ReceiveQueue {
  std::byte* ring;
  std::uint32_t entries, stride;
  std::uint32_t max_wr, max_sge;
  std::uint32_t producer;
  std::uint32_t reclaimed;
  StaleCompletions stale;
  PostNote* notes;  // per slot of the ring; nullptr: none were allocated
};

// State between wr_start and wr_complete.
struct SendSession {
  std::uint32_t next;          // number of the next WQE; published ones end at SendQueue::producer
  protocol::SendWqe* current;  // nullptr: no WQE is open, setters have no effect
  std::int64_t inline_lines;
  int error;
};

struct Qp {
  static constexpr Kind kKind = Kind::kQp;
  ibv_qp_ex base;  // its first part is an ibv_qp
  Kind kind;
  bool extended;  // created with send_ops_flags
  bool signal_all;
  protocol::QueuePairRecord* record;  // nullptr: an XRC receiver, which has no queues
  DomainMemory domain_memory;
  SendQueue send;
  ReceiveQueue receive;
  SessionLock session_lock;
  SendSession session;
  ibv_qp_cap capabilities;
  std::uint32_t async_events, event_taker;
  PostNote* fingerprints;  // per slot of the send ring; nullptr: none were allocated
  bool has_failed;         // a failed completion has been polled, or is about to be
  std::uint32_t fence_end;        // number behind the last work request with a fence
  SingleUse single;
  Qp* next_in_bucket;
};

// SRQs with tag matching: the ring of operations on its list. All counters are free-running.
struct TagQueue {
  std::byte* ring;
  std::uint32_t entries, stride;
  std::uint32_t max_num_tags;
  std::uint32_t posted;  // operations
  std::uint32_t added;   // tagged receives; also the newest one's handle
};

struct Srq {
  static constexpr Kind kKind = Kind::kSrq;
  ibv_srq base;
  Kind kind;
  std::uint32_t number;
  protocol::SharedReceiveQueueRecord* record;
  ReceiveQueue
      receive;  // `reclaimed` counts completions: the HCA fetches in order, which releases the oldest slots
  TagQueue tags;
  DomainMemory domain_memory;
  std::uint32_t async_events, event_taker;
  Srq* next;
};

struct Wq {
  static constexpr Kind kKind = Kind::kWq;
  ibv_wq base;
  Kind kind;
  protocol::QueuePairRecord* record;
  DomainMemory domain_memory;
  ReceiveQueue receive;
  std::uint32_t async_events, event_taker;
  Wq* next;
};

struct RwqTable {
  static constexpr Kind kKind = Kind::kRwqTable;
  ibv_rwq_ind_table base;
  Kind kind;
};

struct Flow {
  static constexpr Kind kKind = Kind::kFlow;
  ibv_flow base;
  Kind kind;
};

struct Counters {
  static constexpr Kind kKind = Kind::kCounters;
  ibv_counters base;
  Kind kind;
  std::uint32_t handle;
};

struct Ah {
  static constexpr Kind kKind = Kind::kAh;
  ibv_ah base;
  Kind kind;
};

struct Mw {
  static constexpr Kind kKind = Kind::kMw;
  ibv_mw base;
  Kind kind;
};

struct Dm {
  static constexpr Kind kKind = Kind::kDm;
  ibv_dm base;
  Kind kind;
};

struct Xrcd {
  static constexpr Kind kKind = Kind::kXrcd;
  ibv_xrcd base;
  Kind kind;
  std::uint32_t handle;
};

// The object behind a program's handle; nullptr if there is none of this kind, or it has been destroyed.
template <typename Object, typename Public>
Object* object_if_alive(Public* handle) {
  auto* found = reinterpret_cast<Object*>(handle);
  return found != nullptr && found->kind == Object::kKind ? found : nullptr;
}

// The same for a handle passed to the verb `function`, which notes a bad handle.
template <typename Object, typename Public>
Object* object(Public* handle, const char* function = __builtin_FUNCTION()) {
  Object* found = object_if_alive<Object>(handle);
  if (found == nullptr && handle != nullptr) [[unlikely]] report_bad_handle(function);
  return found;
}

inline Context* context_of(ibv_context* context) {
  auto* verbs = reinterpret_cast<std::byte*>(context) - offsetof(verbs_context, context);
  return context == nullptr ? nullptr : object<Context>(reinterpret_cast<verbs_context*>(verbs));
}

inline const char* name_of(ibv_qp_state state) {
  constexpr const char* kNames[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  return state <= IBV_QPS_ERR ? kNames[state] : "no state";
}

inline ibv_qp* public_qp(Qp* qp) { return &qp->base.qp_base; }
inline ibv_cq* public_cq(Cq* cq) { return reinterpret_cast<ibv_cq*>(&cq->base); }

template <typename Object>
Object* allocate_object() {
  auto* made = static_cast<Object*>(shim::allocate(sizeof(Object)));
  if (made == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  made->kind = Object::kKind;
  return made;
}

template <typename Object>
void release_object(Object* gone) {
  gone->kind = Kind::kNone;
  shim::release(gone);
}

// Sends a command; returns 0 or an errno value, which is also in errno, because libibverbs gives commands to
// the kernel by write or ioctl.
template <typename Command>
int execute(Command& command, std::uint32_t context, protocol::CommandType type) {
  command.header = {type, sizeof(Command), 0, context};
  const int error = shim::command(&command.header);
  if (error != 0) errno = error;
  return error;
}
template <typename Command>
int execute(Command& command, std::uint32_t context) {
  return execute(command, context, Command::kType);
}
// Handle of the context to which an object belongs.
inline std::uint32_t handle_of(ibv_context* context) {
  Context* found = context_of(context);
  return found == nullptr ? 0 : found->handle;
}

// The process is about to use a queue of the device. Notes an error if it is a forked copy of the process
// that opened the device, in which the call has no effect.
inline void check_process(ibv_context* context, const char* verb, const char* kind, std::uint32_t number, std::uint64_t caller) {
  const Context* const found = context_of(context);
  if (found != nullptr && found->process != shim::process_id()) [[unlikely]]
    check_copy(found->process, verb, kind, number, caller);
}

// An adapter that has failed has lost its objects, and answers EIO. With RDMAV_ALLOW_DISASSOC_DESTROY the
// program gets success instead, so that it releases its own resources.
inline int destroy(protocol::CommandType type, ibv_context* context, std::uint32_t handle) {
  protocol::DestroyObject command{};
  command.handle = handle;
  const int error = execute(command, handle_of(context), type);
  return error == EIO && ::getenv("RDMAV_ALLOW_DISASSOC_DESTROY") != nullptr ? 0 : error;
}

// Blocks until the program has acknowledged as many events as it has read (ibv_get_cq_event(3),
// ibv_get_async_event(3)). `wait` describes the wait for the report of a hanging run.
void wait_for_acknowledgements(pthread_mutex_t* mutex, pthread_cond_t* condition,
                               const std::uint32_t* acknowledged, const std::uint32_t* handed_out, protocol::VerbWait wait);

// These fill every slot; context.cc calls the first.
void fill_unsupported(verbs_context* verbs);
void fill_send_operations(ibv_qp_ex* qp, std::uint64_t send_ops);  // bits of ibv_qp_create_send_ops_flags
void fill_readers(ibv_cq_ex* cq);
// The wr_* operations that the QP type supports.
std::uint64_t supported_send_ops(ibv_qp_type type);

// Functions for ibv_context_ops and verbs_context, each in the file of its object.
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr);
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
int post_wq_recv(ibv_wq* wq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
int post_srq_ops(ibv_srq* srq, ibv_ops_wr* wr, ibv_ops_wr** bad_wr);
int poll_cq(ibv_cq* cq, int count, ibv_wc* completions);
int req_notify_cq(ibv_cq* cq, int solicited_only);
ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type);
int dealloc_mw(ibv_mw* mw);
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind);
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes, std::size_t size);
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, std::size_t size);
int query_rt_values(ibv_context* context, ibv_values_ex* values);
int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attributes);
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes);
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes);
ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes);
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes);
int get_srq_num(ibv_srq* srq, std::uint32_t* number);
ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attributes);
int close_xrcd(ibv_xrcd* xrcd);
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list, std::uint32_t count);
ibv_mr* alloc_null_mr(ibv_pd* pd);
ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attributes);
int free_dm(ibv_dm* dm);
ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length, unsigned access);
ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes);
int dealloc_td(ibv_td* td);
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes);
ibv_wq* create_wq(ibv_context* context, ibv_wq_init_attr* attributes);
int modify_wq(ibv_wq* wq, ibv_wq_attr* attributes);
int destroy_wq(ibv_wq* wq);
ibv_rwq_ind_table* create_rwq_ind_table(ibv_context* context, ibv_rwq_ind_table_init_attr* attributes);
int destroy_rwq_ind_table(ibv_rwq_ind_table* table);
ibv_flow* create_flow(ibv_qp* qp, ibv_flow_attr* attributes);
int destroy_flow(ibv_flow* flow);
ibv_counters* create_counters(ibv_context* context, ibv_counters_init_attr* attributes);
int destroy_counters(ibv_counters* counters);
int attach_counters_point_flow(ibv_counters* counters, ibv_counter_attach_attr* attributes, ibv_flow* flow);
int read_counters(ibv_counters* counters, std::uint64_t* values, std::uint32_t count, std::uint32_t flags);

// An object is created in the domain, or destroyed. The adapter counts the objects of protection domains
// only; this counts those of parent domains.
inline void enter_domain(ibv_pd* handle) {
  auto* pd = object<Pd>(handle);
  if (pd != nullptr && pd->protection_domain != nullptr) ++pd->users;
}
inline void leave_domain(ibv_pd* handle) {
  auto* pd = object<Pd>(handle);
  if (pd != nullptr && pd->protection_domain != nullptr) --pd->users;
}

// Requests memory for an object with `ring_bytes` bytes of rings from the allocator of a parent domain, if it
// has one. The resource types are those of mlx5, whose names the devices have (<infiniband/mlx5dv.h>). False:
// the allocator has failed, and nothing is held.
enum class ResourceType : std::uint64_t { kQp = 1, kRwq = 2, kDoorbellRecord = 3, kSrq = 4, kCq = 5 };
bool allocate_in_domain(ibv_pd* handle, ResourceType type, std::uint64_t ring_bytes, DomainMemory* memory);
// Releases that memory in reverse order.
void release_in_domain(ibv_pd* handle, ResourceType type, DomainMemory* memory);

// ibv_reg_mr_iova2(). nullptr with errno on failure.
ibv_mr* register_memory(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, unsigned access);

// Creates the object of a memory region that the adapter has created. nullptr with errno if there is no
// memory; the adapter's region is then destroyed.
ibv_mr* make_mr(ibv_pd* pd, void* address, std::size_t length, std::uint32_t handle, std::uint32_t lkey, std::uint32_t rkey);

// Creates the object of device memory that the adapter has allocated; nullptr if there is no memory.
ibv_dm* make_dm(ibv_context* context, std::uint32_t handle);
// Creates an opened device with its function tables; nullptr if there is no memory.
ibv_context* make_context(ibv_device* device, std::uint32_t handle, int cmd_fd, int async_fd, std::uint32_t vectors);
// The device with this index in ibv_get_device_list.
ibv_device* device_by_index(std::uint32_t index);

// Takes the next entry that is visible at present, or nullptr; used by cq.cc and cq_ex.cc. The entry stays
// valid until publish_consumer().
const protocol::Cqe* take_completion(Cq& cq);
void publish_consumer(Cq& cq);
// 0 for tag-matching completions, where the field holds a part of the tag.
inline std::uint32_t source_qp(const protocol::Cqe& cqe) {
  return cqe.queue == protocol::CqeQueue::kNone ? 0 : cqe.source_qp;
}
// Removes a queue pair's completions from its CQ, as vendors' libraries do at RESET and destruction.
void discard_completions(ibv_cq* cq, std::uint32_t qp_number);
// The completions that are visible in the CQ at present.
StaleCompletions waiting_completions(ibv_cq* cq);

// List of all regions of the process (memory_gone.cc).
void add_region(Mr& mr);
void remove_region(Mr& mr);

Qp* find_qp(Context& context, std::uint32_t number);
Wq* find_wq(Context& context, std::uint32_t number);
void add_qp(Context& context, Qp& qp);
void remove_qp(Context& context, Qp& qp);

protocol::AddressVector address_vector(const ibv_ah_attr& attributes);
ibv_ah_attr ah_attributes(const protocol::AddressVector& address);

// Ticks of the HCA's clock at a virtual time.
std::uint64_t core_clock_ticks(std::uint64_t khz, std::int64_t now_ps);
// Queries the device at the first call.
std::uint64_t core_clock_khz(Context& context);

}  // namespace verbatim::verbs
