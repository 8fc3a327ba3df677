// The control path: one struct per verb, stored in the calling thread's mailbox, and answered in place.
// `status` is 0 or an errno value. Enumerations and bit masks are those of <infiniband/verbs.h>, stored as
// integers. Keys are in host byte order, GIDs are 16 raw bytes. Handles are per device and process and are
// never reused within a run.
#pragma once

#include <cstdint>

namespace verbatim::protocol {

enum class CommandType : std::uint32_t {
  kListDevices = 1,  // answered by the supervisor; the others by the HCA unless noted
  kOpenDevice,       // supervisor (descriptors) and HCA (context)
  kCloseDevice,      // supervisor and HCA
  kQueryDevice,
  kQueryPort,
  kQueryGid,
  kQueryPkey,
  kAllocPd,
  kDeallocPd,
  kRegMr,
  kDeregMr,
  kCreateChannel,    // supervisor
  kCreateCq,
  kDestroyCq,
  kResizeCq,
  kCreateQp,
  kQueryQp,
  kModifyQp,
  kDestroyQp,
  kCreateAh,
  kDestroyAh,
  kCreateSrq,
  kModifySrq,
  kQuerySrq,
  kDestroySrq,
  kAttachMulticast,
  kDetachMulticast,
  kAllocMw,
  kDeallocMw,
  kOpenXrcd,
  kCloseXrcd,
  kOpenQp,
  kReregMr,
  kReportRefusal,    // supervisor
  kAllocDm,
  kFreeDm,
  kCopyDm,
  kRegDmMr,
  kAllocNullMr,
  kAdviseMr,
  kImportDevice,  // supervisor
  kImportObject,
  kCreateFlow,
  kDestroyFlow,
  kCreateCounters,
  kDestroyCounters,
  kAttachCounter,
  kReadCounters,
  kCreateWq,
  kModifyWq,
  kDestroyWq,
  kCreateRwqTable,
  kDestroyRwqTable,
  kModifyCq,
};

struct CommandHeader {
  CommandType type;
  std::uint32_t size;     // bytes of the whole command
  std::int32_t status;    // out: 0 or errno
  std::uint32_t context;  // handle of the opened device; for kListDevices and kOpenDevice: the device's index
};

inline constexpr std::uint32_t kNameSize = 64;

struct ListDevices {
  static constexpr CommandType kType = CommandType::kListDevices;
  static constexpr std::uint32_t kMaxDevices = 32;
  struct Device {
    char name[kNameSize];
    std::uint64_t node_guid;  // host byte order
    std::uint32_t port_count;
    std::uint32_t vendor_id;  // as in ibv_device_attr
  };
  CommandHeader header;
  std::uint32_t count;  // out
  std::uint32_t reserved;
  Device devices[kMaxDevices];
};

struct OpenDevice {
  static constexpr CommandType kType = CommandType::kOpenDevice;
  CommandHeader header;
  std::uint32_t context;   // out
  std::int32_t cmd_fd;     // out
  std::int32_t async_fd;   // out
  std::uint32_t completion_vectors;  // out
};

struct CloseDevice {
  static constexpr CommandType kType = CommandType::kCloseDevice;
  CommandHeader header;
};

// A second handle of a device that this process has open (ibv_import_device(3)).
struct ImportDevice {
  static constexpr CommandType kType = CommandType::kImportDevice;
  CommandHeader header;
  std::int32_t cmd_fd;
  std::uint32_t context;   // out
  std::int32_t async_fd;   // out
  std::uint32_t completion_vectors;  // out
  std::uint32_t device;    // out: its index
  std::uint32_t reserved;
};

// Whether the object exists, and the attributes that the program needs.
struct ImportObject {
  static constexpr CommandType kType = CommandType::kImportObject;
  enum Kind : std::uint32_t { kPd, kMr, kDm };
  CommandHeader header;
  std::uint32_t kind;
  std::uint32_t handle;
  std::uint32_t pd;          // for kMr
  std::uint32_t lkey, rkey;  // out
  std::uint32_t reserved;
  std::uint64_t length;  // out
};

// Fields of ibv_device_attr and ibv_device_attr_ex that are meaningful here; the others are zero.
struct DeviceAttributes {
  char firmware_version[kNameSize];
  std::uint64_t node_guid;
  std::uint64_t sys_image_guid;
  std::uint64_t max_mr_size;
  std::uint64_t page_size_cap;
  std::uint64_t device_cap_flags;
  std::uint64_t completion_timestamp_mask;
  std::uint64_t hca_core_clock_khz;
  std::uint64_t max_dm_size;
  std::uint32_t vendor_id;
  std::uint32_t vendor_part_id;
  std::uint32_t hw_ver;
  std::uint32_t max_qp;
  std::uint32_t max_qp_wr;
  std::uint32_t max_sge;
  std::uint32_t max_sge_rd;
  std::uint32_t max_cq;
  std::uint32_t max_cqe;
  std::uint32_t max_mr;
  std::uint32_t max_pd;
  std::uint32_t max_qp_rd_atom;
  std::uint32_t max_res_rd_atom;
  std::uint32_t max_qp_init_rd_atom;
  std::uint32_t atomic_cap;  // ibv_atomic_cap
  std::uint32_t max_mw;
  std::uint32_t max_mcast_grp;
  std::uint32_t max_mcast_qp_attach;
  std::uint32_t max_ah;
  std::uint32_t max_srq;
  std::uint32_t max_srq_wr;
  std::uint32_t max_srq_sge;
  std::uint32_t max_inline_data;
  std::uint32_t max_rendezvous_header, max_num_tags, max_tag_operations, max_tag_sge;  // ibv_tm_caps, on RC
  std::uint32_t odp_general;                      // ibv_odp_general_caps
  std::uint32_t odp_rc, odp_uc, odp_ud, odp_xrc;  // ibv_odp_transport_cap_bits
  std::uint32_t raw_packet_caps;                  // ibv_raw_packet_caps
  std::uint32_t max_wq;
  std::uint32_t rss_qpts;  // by ibv_qp_type
  std::uint32_t max_rwq_tables, max_rwq_table_size;
  std::uint32_t hash_functions;  // ibv_rx_hash_function_flags
  std::uint64_t hash_fields;     // ibv_rx_hash_fields
  std::uint16_t max_pkeys;
  std::uint8_t local_ca_ack_delay;
  std::uint8_t port_count;
};

struct QueryDevice {
  static constexpr CommandType kType = CommandType::kQueryDevice;
  CommandHeader header;
  DeviceAttributes attributes;  // out
};

struct QueryPort {
  static constexpr CommandType kType = CommandType::kQueryPort;
  CommandHeader header;
  std::uint32_t port;  // from 1
  // out, as ibv_port_attr
  std::uint32_t state, max_mtu, active_mtu;
  std::int32_t gid_table_length;
  std::uint32_t port_cap_flags, port_cap_flags2, max_message_size, bad_pkey_counter, qkey_violation_counter;
  std::uint16_t pkey_table_length, lid, sm_lid;
  std::uint8_t lmc, max_vl_num, sm_sl, subnet_timeout, init_type_reply, active_width, phys_state, link_layer, flags;
  std::uint8_t reserved;
  std::uint32_t active_speed;
};

struct QueryGid {
  static constexpr CommandType kType = CommandType::kQueryGid;
  CommandHeader header;
  std::uint32_t port, index;
  std::uint8_t gid[16];    // out
  std::uint32_t gid_type;  // out: 0 InfiniBand, 1 RoCE v1, 2 RoCE v2
  std::uint32_t netdev_index;
};

struct QueryPkey {
  static constexpr CommandType kType = CommandType::kQueryPkey;
  CommandHeader header;
  std::uint32_t port, index;
  std::uint32_t pkey;  // out, host byte order
  std::uint32_t reserved;
};

struct AllocPd {
  static constexpr CommandType kType = CommandType::kAllocPd;
  CommandHeader header;
  std::uint32_t handle;  // out
  std::uint32_t reserved;
};

// Destroys one object by handle: kDeallocPd, kDeregMr, kDestroyCq, kDestroyQp, kDestroyAh, kDestroySrq, ….
struct DestroyObject {
  CommandHeader header;
  std::uint32_t handle;
  std::uint32_t events_reported;        // out: completion events raised for a CQ, async events for the rest
  std::uint32_t async_events_reported;  // out
  std::uint32_t reserved;
};

struct RegMr {
  static constexpr CommandType kType = CommandType::kRegMr;
  CommandHeader header;
  std::uint64_t start, length, iova;
  std::uint32_t pd;
  std::uint32_t access;  // ibv_access_flags
  std::uint32_t handle;  // out
  std::uint32_t lkey;    // out
  std::uint32_t rkey;    // out
  std::uint32_t reserved;
};

// Reports a call that no adapter of a simulation supports; the run warns of it.
struct ReportRefusal {
  static constexpr CommandType kType = CommandType::kReportRefusal;
  CommandHeader header;
  char function[kNameSize];  // name of the called function, null-terminated
};

struct CreateChannel {
  static constexpr CommandType kType = CommandType::kCreateChannel;
  CommandHeader header;
  std::int32_t fd;  // the channel's descriptor, which also identifies it in CreateCq
  std::uint32_t reserved;
};

struct CreateCq {
  static constexpr CommandType kType = CommandType::kCreateCq;
  CommandHeader header;
  std::uint64_t cookie;      // returned in events: the program's ibv_cq
  std::uint32_t cqe;         // in: asked for; out: granted
  std::int32_t channel_fd;   // -1: none
  std::uint32_t channel;     // set by the supervisor: the channel's number for the HCA
  std::uint32_t completion_vector;
  std::uint32_t handle;      // out
  std::uint32_t number;      // out: CQN
  std::uint64_t ring_offset;    // out: in the arena
  std::uint64_t record_offset;  // out: CompletionQueueRecord in the arena
  std::uint32_t ring_entries;   // out: a power of two, at least cqe
  std::uint32_t ignores_overrun;  // 0 or 1: IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN
};

struct QpCapabilities {
  std::uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data;
};

struct AddressVector {
  std::uint8_t dgid[16];
  std::uint32_t flow_label;
  std::uint16_t dlid;
  std::uint8_t sgid_index, hop_limit, traffic_class, service_level, source_path_bits, static_rate, is_global, port;
};

// Receive-side scaling: a queue pair distributes its frames to the queues of a table by a hash of these
// fields.
struct ReceiveHash {
  static constexpr std::uint32_t kKeyBytes = 40;
  std::uint64_t fields;  // ibv_rx_hash_fields
  std::uint32_t table;   // 0: none, the queue pair has a receive queue of its own
  std::uint8_t function;  // ibv_rx_hash_function_flags
  std::uint8_t key_length;
  std::uint8_t reserved[2];
  std::uint8_t key[kKeyBytes];
};

struct CreateQp {
  static constexpr CommandType kType = CommandType::kCreateQp;
  CommandHeader header;
  std::uint64_t cookie;  // returned in async events: the program's ibv_qp
  std::uint32_t pd, send_cq, recv_cq, srq;  // handles; srq 0: none
  std::uint32_t type;                       // ibv_qp_type
  std::uint32_t signal_all;
  QpCapabilities capabilities;  // in: asked for; out: granted
  std::uint32_t xrcd;
  std::uint32_t handle;         // out
  std::uint32_t number;         // out: QPN
  std::uint32_t send_entries, send_stride;  // out: count (power of two) and bytes of one entry
  std::uint32_t recv_entries, recv_stride;  // out
  std::uint64_t send_offset, recv_offset;   // out: in the arena
  std::uint64_t record_offset;              // out: QueuePairRecord
  std::uint32_t create_flags;               // ibv_qp_create_flags
  std::uint32_t reserved;
  ReceiveHash hash;
};

// Fields of ibv_qp_attr, selected by ibv_qp_attr_mask.
struct QpAttributes {
  AddressVector path, alternate_path;
  QpCapabilities capabilities;
  std::uint32_t qp_state, cur_qp_state, path_mtu, path_mig_state, qkey, rq_psn, sq_psn, dest_qp_num;
  std::uint32_t qp_access_flags, rate_limit;
  std::uint16_t pkey_index, alt_pkey_index;
  std::uint8_t en_sqd_async_notify, sq_draining, max_rd_atomic, max_dest_rd_atomic, min_rnr_timer, port_num;
  std::uint8_t timeout, retry_cnt, rnr_retry, alt_port_num, alt_timeout, reserved;
};

struct ModifyQp {
  static constexpr CommandType kType = CommandType::kModifyQp;
  CommandHeader header;
  std::uint32_t handle;
  std::uint32_t mask;       // ibv_qp_attr_mask
  QpAttributes attributes;  // in; qp_state out: the state after the call
};

struct QueryQp {
  static constexpr CommandType kType = CommandType::kQueryQp;
  CommandHeader header;
  std::uint32_t handle;
  std::uint32_t mask;
  QpAttributes attributes;  // out: everything
  std::uint32_t signal_all;
  std::uint32_t reserved;
};

struct CreateAh {
  static constexpr CommandType kType = CommandType::kCreateAh;
  CommandHeader header;
  std::uint32_t pd;
  std::uint32_t handle;  // out
  AddressVector address;
};

// The HCA moves the unconsumed entries to the new ring with unchanged numbers; each `sequence` is recomputed
// for the new number of entries.
struct ResizeCq {
  static constexpr CommandType kType = CommandType::kResizeCq;
  CommandHeader header;
  std::uint32_t handle;
  std::uint32_t cqe;          // in: asked for; out: granted
  std::uint64_t ring_offset;  // out
  std::uint32_t ring_entries; // out
  std::uint32_t reserved;
};

struct ModifyCq {
  static constexpr CommandType kType = CommandType::kModifyCq;
  static constexpr std::uint32_t kMaxPeriodUs = 4095;
  CommandHeader header;
  std::uint32_t handle;
  std::uint16_t count, period_us;  // ibv_moderate_cq
};

struct CreateSrq {
  static constexpr CommandType kType = CommandType::kCreateSrq;
  CommandHeader header;
  std::uint64_t cookie;  // returned in async events: the program's ibv_srq
  std::uint32_t pd;
  std::uint32_t srq_type;                      // ibv_srq_type
  std::uint32_t xrcd, cq;                      // XRC; the CQ also for tag matching
  std::uint32_t max_wr, max_sge, srq_limit;    // in: asked for; out: granted
  std::uint32_t handle;                        // out
  std::uint32_t number;                        // out: SRQN
  std::uint32_t recv_entries, recv_stride;     // out
  std::uint32_t max_num_tags, max_ops;         // tag matching; in: asked for; out: granted
  std::uint32_t operation_entries, operation_stride;  // out
  std::uint32_t reserved;
  std::uint64_t recv_offset;                   // out: in the arena
  std::uint64_t operation_offset;              // out: ring of TagOperationWqe
  std::uint64_t record_offset;                 // out: SharedReceiveQueueRecord
};

// kModifySrq and kQuerySrq.
struct SrqAttributes {
  CommandHeader header;
  std::uint32_t handle;
  std::uint32_t mask;  // kModifySrq: ibv_srq_attr_mask
  std::uint32_t max_wr, max_sge, srq_limit;  // in for kModifySrq, out for kQuerySrq
  std::uint32_t reserved;
};

// kAttachMulticast and kDetachMulticast.
struct Multicast {
  CommandHeader header;
  std::uint32_t qp;
  std::uint16_t lid;
  std::uint16_t reserved;
  std::uint8_t gid[16];
};

struct AllocMw {
  static constexpr CommandType kType = CommandType::kAllocMw;
  CommandHeader header;
  std::uint32_t pd;
  std::uint32_t type;    // ibv_mw_type
  std::uint32_t handle;  // out
  std::uint32_t rkey;    // out
};

struct OpenXrcd {
  static constexpr CommandType kType = CommandType::kOpenXrcd;
  CommandHeader header;
  std::uint64_t inode;   // identity of the file that identifies the domain; 0: private
  std::uint32_t flags;   // open flags: O_CREAT, O_EXCL
  std::uint32_t handle;  // out
};

// A second handle of an existing XRC receiver in the domain.
struct OpenQp {
  static constexpr CommandType kType = CommandType::kOpenQp;
  CommandHeader header;
  std::uint64_t cookie;  // as in CreateQp
  std::uint32_t xrcd;
  std::uint32_t number;  // QPN
  std::uint32_t handle;  // out
  std::uint32_t state;   // out: ibv_qp_state
};

// Changes a memory region in place; attributes not named in `flags` (ibv_rereg_mr_flags) are unchanged.
struct ReregMr {
  static constexpr CommandType kType = CommandType::kReregMr;
  CommandHeader header;
  std::uint64_t start, length, iova;
  std::uint32_t handle;
  std::uint32_t flags;
  std::uint32_t pd;
  std::uint32_t access;
  std::uint32_t lkey;  // out
  std::uint32_t rkey;  // out
};

struct AllocDm {
  static constexpr CommandType kType = CommandType::kAllocDm;
  CommandHeader header;
  std::uint64_t length;
  std::uint32_t log_align;  // alignment of its start
  std::uint32_t handle;     // out
};

// The CPU reads or writes device memory by loads and stores; no kernel call is made.
struct CopyDm {
  static constexpr CommandType kType = CommandType::kCopyDm;
  CommandHeader header;
  std::uint64_t offset, length;
  std::uint64_t address;  // in the program
  std::uint32_t handle;
  std::uint32_t to_device;  // 0 or 1
};

struct RegDmMr {
  static constexpr CommandType kType = CommandType::kRegDmMr;
  CommandHeader header;
  std::uint64_t offset, length;
  std::uint32_t dm;
  std::uint32_t pd;
  std::uint32_t access;
  std::uint32_t handle;  // out
  std::uint32_t key;     // out: local and remote
  std::uint32_t reserved;
};

struct AllocNullMr {
  static constexpr CommandType kType = CommandType::kAllocNullMr;
  CommandHeader header;
  std::uint32_t pd;
  std::uint32_t handle;  // out
  std::uint32_t lkey;    // out
  std::uint32_t reserved;
};

// One range; the shim iterates over the list.
struct AdviseMr {
  static constexpr CommandType kType = CommandType::kAdviseMr;
  CommandHeader header;
  std::uint64_t va;
  std::uint32_t length, lkey;
  std::uint32_t pd;
  std::uint32_t advice;  // ib_uverbs_advise_mr_advice
  std::uint32_t flags;
  std::uint32_t reserved;
};

// Match or action of a flow rule. Values and masks have the layout of the filters in <infiniband/verbs.h>.
struct FlowSpec {
  static constexpr std::uint32_t kFilterBytes = 40;
  std::uint32_t type;      // ibv_flow_spec_type
  std::uint32_t argument;  // tag, or handle of counters
  std::uint8_t value[kFilterBytes], mask[kFilterBytes];
};

struct CreateFlow {
  static constexpr CommandType kType = CommandType::kCreateFlow;
  static constexpr std::uint32_t kMaxSpecs = 10;  // the limit of Linux (IB_FLOW_SPEC_SUPPORT_LAYERS)
  CommandHeader header;
  std::uint32_t qp;
  std::uint32_t type;   // ibv_flow_attr_type
  std::uint32_t flags;  // ibv_flow_flags
  std::uint16_t priority;
  std::uint8_t port, spec_count;
  std::uint32_t handle;  // out
  std::uint32_t reserved;
  FlowSpec specs[kMaxSpecs];
};

struct CreateCounters {
  static constexpr CommandType kType = CommandType::kCreateCounters;
  CommandHeader header;
  std::uint32_t handle;  // out
  std::uint32_t reserved;
};

struct AttachCounter {
  static constexpr CommandType kType = CommandType::kAttachCounter;
  CommandHeader header;
  std::uint32_t counters;
  std::uint32_t flow;         // 0: every flow created later with the counters
  std::uint32_t description;  // ibv_counter_description
  std::uint32_t index;
};

struct ReadCounters {
  static constexpr CommandType kType = CommandType::kReadCounters;
  static constexpr std::uint32_t kMost = 64;
  CommandHeader header;
  std::uint32_t counters;
  std::uint32_t count;
  std::uint64_t values[kMost];  // out
};

struct CreateWq {
  static constexpr CommandType kType = CommandType::kCreateWq;
  CommandHeader header;
  std::uint64_t cookie;  // returned in async events: the program's ibv_wq
  std::uint32_t pd, cq;
  std::uint32_t type;             // ibv_wq_type
  std::uint32_t flags;            // ibv_wq_flags
  std::uint32_t max_wr, max_sge;  // in: asked for; out: granted
  std::uint32_t handle;           // out
  std::uint32_t number;           // out
  std::uint32_t recv_entries, recv_stride;  // out
  std::uint64_t recv_offset;                // out: in the arena
  std::uint64_t record_offset;              // out: QueuePairRecord
};

struct ModifyWq {
  static constexpr CommandType kType = CommandType::kModifyWq;
  CommandHeader header;
  std::uint32_t handle;
  std::uint32_t mask;                  // ibv_wq_attr_mask
  std::uint32_t state, current_state;  // ibv_wq_state; out: the state after the call
  std::uint32_t flags, flags_mask;     // ibv_wq_flags
};

struct CreateRwqTable {
  static constexpr CommandType kType = CommandType::kCreateRwqTable;
  static constexpr std::uint32_t kMostQueues = 2048;
  CommandHeader header;
  std::uint32_t log_size;
  std::uint32_t handle;  // out
  std::uint32_t number;  // out
  std::uint32_t reserved;
  std::uint32_t queues[kMostQueues];  // handles
};

// Read from the descriptor of a completion channel or of async events; layout of the kernel's ABI.
struct CompletionEvent {
  std::uint64_t cookie;
};
struct AsyncEvent {
  std::uint64_t element;  // cookie of the CQ, QP or SRQ, or the port number
  std::uint32_t event_type;
  std::uint32_t reserved;
};

}  // namespace verbatim::protocol
