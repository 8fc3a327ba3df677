// The verbs objects as this library keeps them. Each begins with the public struct the program sees, lives in
// the shim's own heap and carries its kind, so that a handle used after its destruction is refused instead of
// followed.
//
// Locks: in a simulated world one thread runs at a time and the token changes hands only inside runtime calls
// (spend, ring_doorbell, command, system_call). Code between two runtime calls is therefore atomic and takes
// no lock. Only what the API stretches over several calls, wr_start … wr_complete and start_poll … end_poll,
// holds a SessionLock; whoever finds it taken lets virtual time pass, so the holder always gets on.
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
};

class SessionLock {
 public:
  // Until no other thread is between the calls of a session; what the caller does before its next runtime
  // call is then outside every session.
  void wait() {
    while (held_) shim::spend(kRetryPs);
  }
  void acquire() {
    wait();
    held_ = true;
  }
  void release() { held_ = false; }

 private:
  // Time between two attempts of a thread that waits for another one's session.
  static constexpr std::int64_t kRetryPs = 10'000;
  bool held_;
};

struct Device {
  ibv_device base;
  // Where vendor libraries look for their operations (struct verbs_device::ops): never theirs.
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
  std::uint32_t process;         // that has opened it; its objects work there alone
  std::uint64_t core_clock_khz;  // of the HCA; 0 until asked for
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

// A protection domain, or a parent domain: another name for its protection domain, whose handle it has.
struct Pd {
  static constexpr Kind kKind = Kind::kPd;
  ibv_pd base;
  Kind kind;
  Pd* protection_domain;  // of a parent domain
  Td* td;                 // of a parent domain, or nullptr
  std::uint32_t users;    // of a parent domain: objects made with it; else parent domains
  // Of a parent domain: the program's own allocator and what it is given back by, or nullptr.
  void* (*allocate)(ibv_pd*, void*, std::size_t, std::size_t, std::uint64_t);
  void (*release)(ibv_pd*, void*, void*, std::uint64_t);
  void* allocator_context;
};

// What the program's allocator gave for an object in a parent domain: room for its rings, and for its record; nullptr where it
// left that to this library. The adapter's rings lie in memory that it shares with this library, so nothing is kept there.
struct DomainMemory {
  void *rings, *record;
};

struct Mr {
  static constexpr Kind kKind = Kind::kMr;
  ibv_mr base;
  Kind kind;
  std::uint32_t process;  // that made it
  bool is_on_demand;
  Mr *previous, *next;  // of all there are
};

struct Channel {
  static constexpr Kind kKind = Kind::kChannel;
  ibv_comp_channel base;
  Kind kind;
};

struct Cq {
  static constexpr Kind kKind = Kind::kCq;
  ibv_cq_ex base;  // an ibv_cq is its first part
  Kind kind;
  ibv_pd* parent_domain;  // that it was made with, or nullptr
  DomainMemory domain_memory;
  std::uint32_t number;
  protocol::Cqe* ring;
  std::uint32_t entries;      // a power of two
  std::uint32_t entries_log;  // its logarithm
  std::uint32_t consumer;     // entries taken; the record follows when the call that took them ends
  protocol::CompletionQueueRecord* record;
  SessionLock session;
  protocol::Cqe current;  // of start_poll and next_poll
  // Events handed to the program; the destruction of the CQ waits until as many are acknowledged.
  std::uint32_t completion_events;
  std::uint32_t async_events;
  std::uint32_t event_taker;  // virtual id of the thread that was handed the last
  SingleUse single;
};

// Completions of a queue pair from before it went through RESET may still wait in its CQ; they free no slots.
struct StaleCompletions {
  bool any;
  std::uint32_t end;  // number of the first entry of the CQ after them
};

struct SendQueue {
  std::byte* ring;
  std::uint32_t entries, stride;
  std::uint32_t max_wr, max_sge, max_inline;
  std::uint32_t producer;   // WQEs written
  std::uint32_t reclaimed;  // WQEs whose slots are free again
  StaleCompletions stale;
};

struct ReceiveQueue {
  std::byte* ring;
  std::uint32_t entries, stride;
  std::uint32_t max_wr, max_sge;
  std::uint32_t producer;
  std::uint32_t reclaimed;
  StaleCompletions stale;
  PostNote* notes;  // of each slot of the ring; nullptr: there was no room for them
};

// What lies between wr_start and wr_complete.
struct SendSession {
  std::uint32_t next;          // number of the next WQE; the published ones end at SendQueue::producer
  protocol::SendWqe* current;  // nullptr: none open, setters have no effect
  std::int64_t inline_lines;
  int error;
};

struct Qp {
  static constexpr Kind kKind = Kind::kQp;
  ibv_qp_ex base;  // an ibv_qp is its first part
  Kind kind;
  bool extended;  // made with send_ops_flags
  bool signal_all;
  protocol::QueuePairRecord* record;  // nullptr: an XRC receiver, to which nothing is posted
  DomainMemory domain_memory;
  SendQueue send;
  ReceiveQueue receive;
  SessionLock session_lock;
  SendSession session;
  ibv_qp_cap capabilities;
  std::uint32_t async_events, event_taker;
  PostNote* fingerprints;  // of each slot of the send ring; nullptr: there was no room for them
  bool has_failed;         // the program has polled a completion that says so, or is about to
  std::uint32_t fence_end;        // the work request behind the last one with a fence
  SingleUse single;
  Qp* next_in_bucket;
};

// Of an SRQ with tag matching: the ring of operations on its list. All counts are free-running.
struct TagQueue {
  std::byte* ring;
  std::uint32_t entries, stride;
  std::uint32_t max_num_tags;
  std::uint32_t posted;  // operations
  std::uint32_t added;   // tagged receives; the handle of the newest
};

struct Srq {
  static constexpr Kind kKind = Kind::kSrq;
  ibv_srq base;
  Kind kind;
  std::uint32_t number;
  protocol::SharedReceiveQueueRecord* record;
  ReceiveQueue
      receive;  // `reclaimed` counts completions: the HCA fetches in order, so the oldest slots are free
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

// The object behind a program's handle, or nullptr when it is not (any more) one of the kind.
template <typename Object, typename Public>
Object* object_if_alive(Public* handle) {
  auto* found = reinterpret_cast<Object*>(handle);
  return found != nullptr && found->kind == Object::kKind ? found : nullptr;
}

// Likewise, of a handle that the program has given to `function`.
template <typename Object, typename Public>
Object* object(Public* handle, const char* function = __builtin_FUNCTION()) {
  Object* found = object_if_alive<Object>(handle);
  if (found == nullptr && handle != nullptr) [[unlikely]] tell_bad_handle(function);
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

// Sends a command; 0 or an errno value.
template <typename Command>
int execute(Command& command, std::uint32_t context, protocol::CommandType type) {
  command.header = {type, sizeof(Command), 0, context};
  return shim::command(&command.header);
}
template <typename Command>
int execute(Command& command, std::uint32_t context) {
  return execute(command, context, Command::kType);
}
// The handle of the context an object belongs to.
inline std::uint32_t handle_of(ibv_context* context) {
  Context* found = context_of(context);
  return found == nullptr ? 0 : found->handle;
}

// The process is about to use a queue of the device; where it is a copy of the one that has opened that, nothing comes of it.
inline void check_process(ibv_context* context, const char* verb, const char* kind, std::uint32_t number, std::uint64_t caller) {
  const Context* const found = context_of(context);
  if (found != nullptr && found->process != shim::process_id()) [[unlikely]]
    check_copy(found->process, verb, kind, number, caller);
}

// Of an adapter that has failed the adapter's part is gone, and EIO; a program may have asked to be told of success instead, so
// that it can free what is its own.
inline int destroy(protocol::CommandType type, ibv_context* context, std::uint32_t handle) {
  protocol::DestroyObject command{};
  command.handle = handle;
  const int error = execute(command, handle_of(context), type);
  return error == EIO && ::getenv("RDMAV_ALLOW_DISASSOC_DESTROY") != nullptr ? 0 : error;
}

// Blocks until the program has acknowledged as many events as it was handed (ibv_get_cq_event(3),
// ibv_get_async_event(3)). `wait` says who waits, for what is told of a run that hangs there.
void wait_for_acknowledgements(pthread_mutex_t* mutex, pthread_cond_t* condition,
                               const std::uint32_t* acknowledged, const std::uint32_t* handed_out, protocol::VerbWait wait);

// Both fill every slot; context.cc assembles them.
void fill_unsupported(verbs_context* verbs);
void fill_send_operations(ibv_qp_ex* qp, std::uint64_t send_ops);  // bits of ibv_qp_create_send_ops_flags
void fill_readers(ibv_cq_ex* cq);
// The wr_* operations a QP type may have.
std::uint64_t supported_send_ops(ibv_qp_type type);

// Slots of ibv_context_ops and verbs_context, each in the file of its object.
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

// An object is made with a domain, and gone. The adapter knows which objects a protection domain has, and nothing of parents.
inline void enter_domain(ibv_pd* handle) {
  auto* pd = object<Pd>(handle);
  if (pd != nullptr && pd->protection_domain != nullptr) ++pd->users;
}
inline void leave_domain(ibv_pd* handle) {
  auto* pd = object<Pd>(handle);
  if (pd != nullptr && pd->protection_domain != nullptr) --pd->users;
}

// Asks the allocator of a parent domain, if the domain has one, for what an object with rings of so many bytes takes. The type is
// that of mlx5 adapters, whose name the devices have (<infiniband/mlx5dv.h>). False: the allocator has none; nothing is taken.
enum class ResourceType : std::uint64_t { kQp = 1, kRwq = 2, kDoorbellRecord = 3, kSrq = 4, kCq = 5 };
bool allocate_in_domain(ibv_pd* handle, ResourceType type, std::uint64_t ring_bytes, DomainMemory* memory);
// Gives back what it gave, the last first.
void release_in_domain(ibv_pd* handle, ResourceType type, DomainMemory* memory);

// A memory region of the program's, which the adapter has already; nullptr with errno: no room for it, and it is none.
ibv_mr* make_mr(ibv_pd* pd, void* address, std::size_t length, std::uint32_t handle, std::uint32_t lkey, std::uint32_t rkey);

// Device memory that the adapter has already; nullptr when there is no room.
ibv_dm* make_dm(ibv_context* context, std::uint32_t handle);
// An opening of a device, with its tables filled; nullptr when there is no room.
ibv_context* make_context(ibv_device* device, std::uint32_t handle, int cmd_fd, int async_fd, std::uint32_t vectors);
// The device with this index, of those of ibv_get_device_list.
ibv_device* device_by_index(std::uint32_t index);

// Shared between the poll functions (cq.cc, cq_ex.cc): takes the next entry that is visible now, or nullptr. It
// stays as it is until the consumer is published.
const protocol::Cqe* take_completion(Cq& cq);
void publish_consumer(Cq& cq);
// Where the entry has a tag instead, it is of a connection.
inline std::uint32_t source_qp(const protocol::Cqe& cqe) {
  return cqe.queue == protocol::CqeQueue::kNone ? 0 : cqe.source_qp;
}
// Takes what waits for a queue pair out of its CQ, as vendors' libraries do when it is reset or destroyed.
void discard_completions(ibv_cq* cq, std::uint32_t qp_number);
// What waits in the CQ now, seen or not.
StaleCompletions waiting_completions(ibv_cq* cq);

// All regions of the process (memory_gone.cc).
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
// Asks the device once.
std::uint64_t core_clock_khz(Context& context);

}  // namespace verbatim::verbs
