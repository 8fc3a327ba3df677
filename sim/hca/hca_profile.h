// Everything about an adapter model that a device profile (JSON) may set. Latencies and initiation intervals
// of pipeline stages are whole cycles of the adapter's core clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/time.h"
#include "sim/fabric/lane_table.h"
#include "sim/fabric/vl_arbiter.h"
#include "sim/host/pcie_profile.h"

namespace verbatim::hca {

// A pipeline stage: work leaves `latency` cycles after it entered, and the next may enter `interval` cycles
// after the one before.
struct Stage {
  std::uint32_t latency_cycles = 1;
  std::uint32_t interval_cycles = 1;
};

struct HcaProfile {
  std::string name;  // of the profile, for messages
  std::string firmware_version = "1.0.0";
  std::uint32_t vendor_id = 0x1d0f00;
  std::uint32_t vendor_part_id = 4123;
  std::uint32_t hw_version = 1;

  std::uint64_t core_clock_hz = 400'000'000;
  host::PcieProfile pcie;

  Stage doorbell;       // doorbell arrived to WQE fetch issued
  Stage wqe_decode;     // WQE arrived to payload gather issued; one per WQE
  Stage packetize;      // payload arrived to packet handed to the port; one per packet
  Stage receive_check;  // packet in to checks done; one per packet
  Stage acknowledge;    // checks done to acknowledgement handed to the port; one per acknowledgement
  Stage completion;     // acknowledged or received to CQE write issued; one per CQE
  std::uint32_t gather_buffer_bytes = 65536;   // payload bytes gathered ahead of the port
  std::uint32_t receive_buffer_bytes = 65536;  // port input buffer per virtual lane, advertised as credits
  std::uint32_t wqe_prefetch = 4;              // send WQEs fetched by one DMA read at the most
  std::uint32_t virtual_lanes = 1;             // data lanes of the port, 1 … 15
  fabric::ArbitrationTables arbitration;       // of what leaves by it
  std::vector<fabric::LevelMapping> sl_to_vl;  // likewise

  Duration event_latency{1'000'000};     // CQE written to completion event readable by the program
  Duration command_latency{20'000'000};  // a control-path verb, CPU time of the caller
  std::uint32_t ack_every_packets = 0;   // AckReq also on every n-th packet inside a message; 0: ends only
  // IBA 9.7.7.2.5: acknowledgements tell how many receives are posted, and SENDs wait for them.
  bool end_to_end_credits = false;
  // IBA 9.7.5.1.2: an acknowledgement that waits behind an earlier one of its queue pair replaces it.
  bool coalesce_acknowledgements = false;
  std::uint8_t local_ca_ack_delay = 16;

  std::uint32_t max_qp = 131072, max_qp_wr = 16384, max_sge = 30, max_sge_rd = 30, max_cq = 65536;
  std::uint32_t max_cqe = 4194303, max_mr = 1048576, max_pd = 32768, max_inline_data = 924;
  std::uint32_t max_qp_rd_atom = 16, max_qp_init_rd_atom = 16, max_ah = 65536;
  std::uint32_t max_srq = 65536, max_srq_wr = 16384, max_srq_sge = 30;
  std::uint64_t max_mr_size = 1ull << 40;
  std::uint32_t max_message_bytes = 1u << 30;
  std::uint32_t max_mtu = 5;  // ibv_mtu: 1 … 5 are 256 … 4096 bytes
  std::uint32_t gid_table_length = 8, pkey_table_length = 1;
};

}  // namespace verbatim::hca
