// Settings of an adapter model in a device profile (JSON). Latencies and initiation intervals of pipeline
// stages are whole cycles of the adapter's core clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/time.h"
#include "sim/fabric/lane_table.h"
#include "sim/fabric/priority_map.h"
#include "sim/fabric/vl_arbiter.h"
#include "sim/hca/congestion/parameters.h"
#include "sim/host/pcie_profile.h"
#include "sim/hca/quirks.h"

namespace verbatim::hca {

// A pipeline stage: work leaves `latency` cycles after it enters, and the next work may enter `interval`
// cycles after the previous one. At most `capacity` pieces of work are in the stage; one may enter at the
// edge at which another leaves. Work that waits to enter is not counted.
struct Stage {
  std::uint32_t latency_cycles = 1;
  std::uint32_t interval_cycles = 1;
  std::uint32_t capacity = 0;  // 0: any number
};

// Bytes that the adapter reads to fetch a work request, in whole lines. A send request has a header, then 16
// bytes per scatter entry or the inline data; a receive has 16 bytes per scatter entry, at least one entry.
struct WqeLayout {
  std::uint32_t line_bytes = 0;             // 0: the whole ring entry is read
  std::uint32_t header_bytes = 36;          // RC, UC, XRC
  std::uint32_t datagram_header_bytes = 68; // UD: with the address
  std::uint32_t receive_line_bytes = 0;     // for receives; 0: the whole ring entry is read

  // `bytes` rounded up to whole lines; `line_bytes` must not be 0.
  std::uint32_t bytes_in_lines(std::uint32_t bytes) const { return (bytes + line_bytes - 1) / line_bytes * line_bytes; }
};

struct AtomicProfile {
  std::uint32_t locks = 4096;  // an atomic locks number (address mod locks)
  // Maximum number of atomics in progress; a request that waits for a lock is overtaken by others. 0: no
  // limit, and requests behind one that waits for a lock wait too.
  std::uint32_t in_flight = 0;
};

// A cache in the adapter of a table in host memory; the least recently used entry is replaced.
struct CacheProfile {
  std::uint32_t entries = 0;        // 0: no misses
  std::uint32_t entry_bytes = 256;  // fetched by DMA on a miss
  std::uint32_t miss_slots = 4;     // maximum number of concurrent fetches
};

// Notification of a sleeping program after a completion: a write of an event queue entry, then the interrupt
// message, both posted.
struct InterruptProfile {
  std::uint32_t event_bytes = 0;    // of an event queue entry; 0: both writes are part of event_latency
  std::uint32_t message_bytes = 4;  // of an MSI-X message
};

// The transport timer of firmware, where it differs from IBA 9.7.6.1.3 (facts of ConnectX-6: detection of a
// silent peer).
struct AckTimerProfile {
  // Minimum of the exponent: the interval is 2 x 4.096 us x 2^max(timeout, least_exponent). Until the first
  // expiry after progress the interval is shorter by one of the next two values (adaptive retransmissions),
  // and this expiry takes two retries. 0: no minimum, and the interval of the specification.
  std::uint32_t least_exponent = 0;
  Duration first_shorter{0};        // for timeout <= least_exponent
  Duration first_shorter_above{0};  // for a greater timeout
  // Without a minimum: the first expiry after progress has no effect, like that of a free-running timer.
  bool first_expiry_is_idle = false;
};

// Recovery of lost packets: its delays in addition to those of the pipeline stages, and the packets that are
// resent.
struct LossRecoveryProfile {
  // From the receive check of a request behind a gap until its NAK enters the acknowledge stage.
  Duration nak_generation{0};
  // From the receive check of this NAK until the requester makes packets again.
  Duration nak_reaction{0};
  // From the receive check of a READ response behind a gap until the READ of the missing bytes.
  Duration read_nak_generation{0};
  // From the receive check of a duplicate READ request until its response begins.
  Duration read_nak_reaction{0};
  // Requests and answers behind a gap are kept, and only missing packets are resent (transport/psn_window.h).
  // Both ends of a connection need it for requests, the requester alone for responses.
  bool selective_repeat = false;
  std::uint32_t log_tx_psn_window = 9;  // log2 of the maximum number of outstanding PSNs, with selective_repeat
  // With per-packet routing in switches: requests behind a gap are kept within that window, and a NAK reports
  // a gap that is older than this. 0: the adapter accepts packets in order only.
  Duration gap_time{0};
  std::uint32_t psn_window() const { return 1u << log_tx_psn_window; }
};

struct HcaProfile {
  std::string name;  // name of the profile, for messages
  std::string firmware_version = "1.0.0";
  std::uint32_t vendor_id = 0x1d0f00;
  std::uint32_t vendor_part_id = 4123;
  std::uint32_t hw_version = 1;
  std::string endpoint = "full";  // or light: light_endpoint.h
  bool is_light() const { return endpoint == "light"; }

  std::uint64_t core_clock_hz = 400'000'000;
  host::PcieProfile pcie;

  Stage doorbell;       // doorbell arrived to WQE fetch issued
  Stage wqe_decode;     // WQE arrived to payload gather issued; one per WQE
  Stage packetize;      // payload arrived to packet handed to the port; one per packet
  // ICRC of every packet: one unit behind packetize and one behind acknowledge compute it, and a third before
  // receive_check checks it. Latency 0 and interval 1: it takes no time.
  Stage icrc{.latency_cycles = 0};
  Stage receive_check;  // packet in to checks done; one per packet
  Stage acknowledge;    // checks done to acknowledgement handed to the port; one per acknowledgement
  Stage completion;     // acknowledged or received to CQE write issued; one per CQE
  std::uint32_t gather_buffer_bytes = 65536;   // payload gathered and not yet in the port, per lane
  std::uint32_t output_queue_bytes = 16384;    // per lane: the port takes no packet while it holds this many bytes
  std::uint32_t vl15_buffer_bytes = 0;  // VL15 receive buffer, without credits: excess packets are dropped; 0: no limit
  std::uint32_t receive_buffer_bytes = 65536;  // port input buffer per virtual lane, advertised as credits
  std::uint32_t wqe_prefetch = 4;              // maximum number of send WQEs fetched by one DMA read
  // Units that decode work requests. Each serves one queue pair at a time, and takes the interval of
  // wqe_decode for a request. 0: one stage for all queue pairs, with that interval.
  std::uint32_t processing_units = 0;
  WqeLayout wqe_layout;
  // Width of the bus from the packetize stage to the port: a packet occupies the stage for at least one cycle
  // per started packet_bus_bytes. 0: no limit.
  std::uint32_t packet_bus_bytes = 0;
  Quirks quirks = 0;  // quirks that choices (sim/core/choice.h) may make it show
  AtomicProfile atomics;
  CacheProfile context_cache;      // contexts of queue pairs
  CacheProfile protection_cache;   // memory protection entries (MPT), one per memory key
  CacheProfile translation_cache;  // translations of pages of memory regions
  std::uint64_t translation_page_bytes = 4096;
  InterruptProfile interrupt;
  ByteTime link_byte_time_min{0, 1};  // byte time of its fastest link; faster links cause a warning; 0: not known
  std::uint32_t virtual_lanes = 1;             // data lanes of the port, 1 … 15
  fabric::ArbitrationTables arbitration;       // VL arbitration of the port's output
  std::vector<fabric::LevelMapping> sl_to_vl;  // SL to VL mapping of the output; on Ethernet by priority
  // On Ethernet: priorities of sent packets, by the service level of a path (pcp) or by its traffic class
  // (dscp).
  std::string trust = "pcp";
  std::vector<fabric::DscpMapping> dscp_to_priority;

  // From the CQE, or the interrupt message if it is modelled, until the program can read the completion
  // event.
  Duration event_latency{1'000'000};
  Duration command_latency{20'000'000};  // a control-path verb, CPU time of the caller
  std::uint32_t ack_every_packets = 0;   // AckReq also on every n-th packet of a message; 0: only on the last
  // IBA 9.7.7.2.5: acknowledgements grant credits for posted receives, and SENDs wait for credits.
  bool end_to_end_credits = false;
  // IBA 9.7.5.1.2: an acknowledgement that waits behind an earlier one of its queue pair replaces it.
  bool coalesce_acknowledgements = false;
  std::uint8_t local_ca_ack_delay = 16;
  // The next queue pair gets the number of a destroyed one; false: numbers count up, and repeat when all have
  // been used.
  bool reuse_qp_numbers = false;

  // Size limit of a work request that the processor writes to the adapter together with its doorbell
  // (BlueFlame), in bytes as a ConnectX counts them (wqe_layout), in whole lines of 64. Applies to a doorbell
  // for one request with inline data. 0: never.
  std::uint32_t blueflame_bytes = 0;
  // A receive enters the completion stage when its payload has left the adapter; false: at once.
  bool receive_completion_after_payload = false;
  AckTimerProfile ack_timer;
  LossRecoveryProfile loss_recovery;
  CongestionControl congestion_control;  // on Ethernet

  std::uint32_t max_qp = 131072, max_qp_wr = 16384, max_sge = 30, max_sge_rd = 30, max_cq = 65536;
  std::uint32_t max_cqe = 4194303, max_mr = 1048576, max_mw = 1048576, max_pd = 32768, max_inline_data = 924;
  std::uint32_t max_qp_rd_atom = 16, max_qp_init_rd_atom = 16, max_ah = 65536;
  std::uint32_t max_srq = 65536, max_srq_wr = 16384, max_srq_sge = 30;
  // Shared receive queues with tag matching: limits of tagged receives in a list, of operations under way,
  // and of scatter entries of a tagged receive. 0 tags: there are no such queues.
  std::uint32_t max_num_tags = 127, max_tag_operations = 16384, max_tag_sge = 1;
  std::uint64_t max_mr_size = 1ull << 40;
  // Raw packet queue pairs, on Ethernet only: limits of flow rules, sets of counters, receive work queues,
  // and tables of these.
  std::uint32_t max_flow = 65536, max_counters = 4096, max_wq = 131072, max_rwq_tables = 131072, max_rwq_table_size = 512;
  // Maximum time that a frame waits for a receive at a queue with kDelayDrop.
  Duration delay_drop_timeout{100'000'000'000};
  std::uint32_t cache_line_bytes = 64;  // writes of queues with kPadWrites are padded to a multiple of it
  std::uint64_t max_dm_size = 128 << 10;  // bytes of memory in the adapter; 0: none
  std::uint32_t max_message_bytes = 1u << 30;
  std::uint32_t max_mtu = 5;  // ibv_mtu: 1 … 5 are 256 … 4096 bytes
  std::uint32_t gid_table_length = 8, pkey_table_length = 1;
};

}  // namespace verbatim::hca
