#include "sim/config/link_params.h"

#include "sim/ib/header_sizes.h"

namespace verbatim::config {

ByteTime line_time_of(const LinkSpec& link) {
  constexpr std::uint32_t kSkipSymbols = 4;
  const ByteTime line = link.rate.byte_time;
  const std::uint64_t all = link.skip_interval_symbols;
  if (all <= kSkipSymbols) return line;
  return ByteTime{line.ps_numerator * all, line.denominator * (all - kSkipSymbols)};
}

fabric::LinkParams link_params_of(const LinkSpec& link, bool is_roce) {
  fabric::LinkParams params;
  params.byte_time = line_time_of(link);
  params.propagation = link.propagation();
  params.transceivers = link.transceiver_delay;
  params.fec = fec_block_time(link.rate, link.fec);
  params.bytes_before = link.start_bytes;
  params.bytes_after = link.end_bytes;
  if (link.flow_control == "none") params.flow_control = fabric::FlowControlKind::kNone;
  if (link.flow_control == "pfc") params.flow_control = fabric::FlowControlKind::kPause;
  params.credit_update_bytes = link.credit_update_bytes;
  params.credit_update_interval = link.credit_update_interval;
  params.credit_refresh_interval = link.credit_refresh_interval;
  params.lossless_lanes = link.lossless_lanes;
  params.pause_quanta = static_cast<std::uint16_t>(link.pfc.quanta);
  params.pause_response = link.pause_response;
  params.headroom_bytes = link.headroom_bytes;
  if (is_roce) {
    // IEEE 802.3: preamble and start delimiter, least gap between packets. The frame has its own check
    // sequence.
    constexpr std::uint32_t kPreambleBytes = 8, kGapBytes = 12;
    params.bytes_before += kPreambleBytes;
    params.bytes_after += kGapBytes;
    params.header_bytes = ib::kEthernetBytes + ib::kIpv6Bytes + ib::kUdpBytes;
  }
  return params;
}

}  // namespace verbatim::config
