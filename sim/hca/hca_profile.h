// Everything about an adapter model that a device profile (JSON) may set. Latencies and initiation intervals
// of pipeline stages are whole cycles of the adapter's core clock.
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

// A pipeline stage: work leaves `latency` cycles after it entered, and the next may enter `interval` cycles
// after the one before, when there is room for it: no more than `capacity` are in the stage at a time, from entering to
// leaving, and what leaves at an edge makes room for what enters at that edge. Work that waits outside is not counted.
struct Stage {
  std::uint32_t latency_cycles = 1;
  std::uint32_t interval_cycles = 1;
  std::uint32_t capacity = 0;  // 0: any number
};

// Bytes that the adapter reads to fetch a work request, in whole lines: for a send request a header and 16
// bytes per scatter entry or the inline data, for a receive 16 bytes per scatter entry, at least one.
struct WqeLayout {
  std::uint32_t line_bytes = 0;             // 0: the whole ring entry is read
  std::uint32_t header_bytes = 36;          // RC, UC, XRC
  std::uint32_t datagram_header_bytes = 68; // UD: with the address
  std::uint32_t receive_line_bytes = 0;     // for receives; 0: the whole ring entry is read

  // Bytes that the fetch of a send request of `bytes` reads; `line_bytes` is not 0.
  std::uint32_t bytes_in_lines(std::uint32_t bytes) const { return (bytes + line_bytes - 1) / line_bytes * line_bytes; }
};

struct AtomicProfile {
  std::uint32_t locks = 4096;  // an atomic locks number (address mod locks)
  // Greatest number of atomics under way; requests that wait for a lock let others pass. 0: no limit, and all
  // requests behind one that waits for a lock wait as well.
  std::uint32_t in_flight = 0;
};

// A cache in the adapter of a table in host memory; the least recently used entry is replaced.
struct CacheProfile {
  std::uint32_t entries = 0;        // 0: no misses
  std::uint32_t entry_bytes = 256;  // fetched by DMA on a miss
  std::uint32_t miss_slots = 4;     // greatest number of entries that are being fetched
};

// From a completion queue entry to the program that sleeps: an entry of the event queue, then the interrupt message,
// both posted writes.
struct InterruptProfile {
  std::uint32_t event_bytes = 0;    // bytes of an event queue entry; 0: neither is modelled, only event_latency
  std::uint32_t message_bytes = 4;  // bytes of an MSI-X message
};

// The transport timer of firmware, where it differs from IBA 9.7.6.1.3 (facts of ConnectX-6: detection of a
// silent peer).
struct AckTimerProfile {
  // Least exponent; with one, the interval is 2 x 4.096 us x 2^max(timeout, least_exponent). The first
  // interval, with adaptive retransmissions, is shorter, and they take one retry. 0: no least exponent, and
  // the interval of the specification.
  std::uint32_t least_exponent = 0;
  Duration first_shorter{0};        // while timeout <= least_exponent
  Duration first_shorter_above{0};  // for a greater timeout
  // Without a least exponent: the first expiry after progress only starts the count, like that of a
  // free-running timer.
  bool first_expiry_is_idle = false;
};

// Time that the recovery of a lost packet takes beside the stages that every packet passes, and which packets are sent again.
struct LossRecoveryProfile {
  // From the checks of a request behind a gap until its NAK enters the acknowledge stage.
  Duration nak_generation{0};
  // From the checks of such a NAK until packets are made again.
  Duration nak_reaction{0};
  // From the checks of a READ response behind a gap until the missing bytes are asked for.
  Duration read_nak_generation{0};
  // From the checks of a duplicate READ request until its answer begins.
  Duration read_nak_reaction{0};
  // Requests behind a gap are kept, and only missing request packets are sent again (transport/psn_window.h).
  // Both ends of a connection need it.
  bool selective_repeat = false;
  std::uint32_t log_tx_psn_window = 9;  // with it: logarithm to base 2 of the greatest number of outstanding PSNs
  // On a fabric whose switches give each packet a route of its own: requests behind a gap are kept within
  // that window, and a gap is reported when it is older than this. 0: the adapter accepts packets in order
  // only.
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
  // ICRC of every packet of the fabric: computed behind packetize or acknowledge, a unit behind each, and
  // checked by a third before receive_check. No latency and an interval of 1: it takes no time.
  Stage icrc{.latency_cycles = 0};
  Stage receive_check;  // packet in to checks done; one per packet
  Stage acknowledge;    // checks done to acknowledgement handed to the port; one per acknowledgement
  Stage completion;     // acknowledged or received to CQE write issued; one per CQE
  std::uint32_t gather_buffer_bytes = 65536;   // payload bytes gathered ahead of the port, per lane
  std::uint32_t output_queue_bytes = 16384;    // per lane: the port takes no more packets while as much waits in it
  std::uint32_t vl15_buffer_bytes = 0;  // VL15 receive buffer, without credits: other packets are dropped; 0: no limit
  std::uint32_t receive_buffer_bytes = 65536;  // port input buffer per virtual lane, advertised as credits
  std::uint32_t wqe_prefetch = 4;              // greatest number of send WQEs fetched by one DMA read
  // Units that decode work requests. Each serves one queue pair at a time, and takes the interval of
  // wqe_decode for a request. 0: one stage for all queue pairs, with that interval.
  std::uint32_t processing_units = 0;
  WqeLayout wqe_layout;
  // Width of the bus from the packetize stage to the port: a packet occupies the stage for at least one cycle
  // per started packet_bus_bytes. 0: no limit.
  std::uint32_t packet_bus_bytes = 0;
  Quirks quirks = 0;  // quirks that it shows by free choices (sim/core/choice.h)
  AtomicProfile atomics;
  CacheProfile context_cache;      // contexts of queue pairs
  CacheProfile protection_cache;   // memory protection entries (MPT), one per memory key
  CacheProfile translation_cache;  // translations of pages of memory regions
  std::uint64_t translation_page_bytes = 4096;
  InterruptProfile interrupt;
  ByteTime link_byte_time_min{0, 1};           // time of a byte on its fastest link; faster links get a warning; 0: not known
  std::uint32_t virtual_lanes = 1;             // data lanes of the port, 1 … 15
  fabric::ArbitrationTables arbitration;       // VL arbitration of the port's output
  std::vector<fabric::LevelMapping> sl_to_vl;  // SL to VL mapping of the output; on Ethernet by priority
  // On Ethernet: priorities of sent packets, by the service level of a path (pcp) or by its traffic class
  // (dscp).
  std::string trust = "pcp";
  std::vector<fabric::DscpMapping> dscp_to_priority;

  // CQE written, or interrupt message where there is one, to completion event readable by the program.
  Duration event_latency{1'000'000};
  Duration command_latency{20'000'000};  // a control-path verb, CPU time of the caller
  std::uint32_t ack_every_packets = 0;   // AckReq also on every n-th packet inside a message; 0: ends only
  // IBA 9.7.7.2.5: acknowledgements grant credits for posted receives, and SENDs wait for credits.
  bool end_to_end_credits = false;
  // IBA 9.7.5.1.2: an acknowledgement that waits behind an earlier one of its queue pair replaces it.
  bool coalesce_acknowledgements = false;
  std::uint8_t local_ca_ack_delay = 16;
  // The next queue pair gets the number of a destroyed one; false: numbers count up, and repeat when all have
  // been used.
  bool reuse_qp_numbers = false;

  // Greatest work request that the processor pushes to the adapter behind its doorbell (BlueFlame), in bytes
  // as a ConnectX counts them (wqe_layout), in whole lines of 64; only a single one with inline data is. 0: none.
  std::uint32_t blueflame_bytes = 0;
  // The completion stage takes the entry of a receive when the payload has left for the host, else at once.
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
  // Time that a frame waits for a receive at a queue that delays drops.
  Duration delay_drop_timeout{100'000'000'000};
  std::uint32_t cache_line_bytes = 64;  // writes of queues with kPadWrites are padded to a multiple of it
  std::uint64_t max_dm_size = 128 << 10;  // bytes of memory in the adapter; 0: none
  std::uint32_t max_message_bytes = 1u << 30;
  std::uint32_t max_mtu = 5;  // ibv_mtu: 1 … 5 are 256 … 4096 bytes
  std::uint32_t gid_table_length = 8, pkey_table_length = 1;
};

}  // namespace verbatim::hca
