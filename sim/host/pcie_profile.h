// Parameters of the PCI Express link between host memory and adapter.
#pragma once

#include <cstdint>

#include "sim/core/time.h"

namespace verbatim::host {

struct PcieProfile {
  std::uint32_t generation = 3;                // 2 … 5
  std::uint32_t lanes = 16;                    // 1, 2, 4, 8, 16
  std::uint32_t max_payload_bytes = 256;       // MPS, posted writes and completions
  std::uint32_t max_read_request_bytes = 512;  // MRRS
  std::uint32_t read_completion_boundary_bytes = 64;  // RCB, a divisor of MPS: completion boundaries
  std::uint32_t write_header_bytes = 24;       // MWr TLP: framing, sequence, 64-bit header, LCRC
  std::uint32_t read_header_bytes = 24;        // MRd TLP
  std::uint32_t completion_header_bytes = 20;  // CplD TLP
  std::uint32_t outstanding_reads = 32;        // read request tags
  // Bytes from one pair of DLLPs (ACK and flow control, 8 bytes each) to the next, in both directions; if
  // set, there is also a SKIP of 4 bytes per 1538. 0: no DLLPs and SKIPs.
  std::uint32_t dllp_interval_bytes = 0;
  Duration write_combining_delay{0};           // delay of pushed data in the CPU's write-combining buffer
  Duration one_way_latency{137'490};           // root complex to adapter or back
  Duration memory_read_latency{90'000};        // root complex: request in to first completion out
  Duration memory_write_latency{60'000};       // root complex: last byte in to visible to the CPU
};

// Time of one byte of a TLP, headers included: the time of DLLPs and SKIPs is spread over all bytes, as in
// pcie-bench/pcie-model (Neugebauer et al., SIGCOMM 2018).
ByteTime tlp_byte_time(const PcieProfile& profile);

// Time of one byte on all lanes after line coding, before TLP and DLLP overhead. Generation 2 has 8b/10b at 5
// GT/s, 3 to 5 have 128b/130b at 8, 16 and 32 GT/s.
ByteTime pcie_byte_time(std::uint32_t generation, std::uint32_t lanes);

}  // namespace verbatim::host
