// Shared by the tests of pauses: cables, and a sender with a receiver that keeps its packets.
#pragma once

#include "tests/fabric/net.h"

namespace verbatim::fabric {

// Packets of 1,022 bytes take 16 blocks, and 1,042 bytes of the line. EDR: 80 ps a byte.
inline constexpr std::uint32_t kPayloadBytes = 996, kPacketBytes = 1'022, kPacketBlocks = 16;
inline constexpr std::int64_t kLineTime = 1'042 * 80;
inline constexpr std::int64_t kHeadTime = (8 + 8) * 80;    // preamble and the bytes that a receiver looks at
inline constexpr std::int64_t kFrameTime = (8 + 64) * 80;  // a frame of a pause, to its last byte
inline constexpr std::int64_t kFrameLineTime = (8 + 64 + 12) * 80;

inline LinkParams pausing_cable(std::uint32_t headroom_blocks, std::int64_t response_ps = 0) {
  LinkParams link{kEdr4x, kWay};
  link.bytes_before = 8;
  link.bytes_after = 12;
  link.flow_control = FlowControlKind::kPause;
  link.lossless_lanes = 0xff;
  link.pause_response = Duration(response_ps);
  link.headroom_bytes = headroom_blocks * kCreditBlockBytes;
  return link;
}

inline PortParams ports_with(std::uint32_t buffer_blocks, std::uint32_t lanes = 1) {
  PortParams params;
  params.virtual_lanes = lanes;
  params.input_buffer_bytes = buffer_blocks * kCreditBlockBytes;
  return params;
}

// A sender on a cable with a receiver that keeps its packets. Both have `reserve` blocks and headroom.
struct PausedPair {
  explicit PausedPair(std::uint32_t reserve, std::uint32_t headroom, std::int64_t response_ps = 0,
                      std::uint32_t lanes = 1)
      : sender(simulation, 0, ports_with(reserve + headroom, lanes)),
        receiver(simulation, 1, ports_with(reserve + headroom, lanes)) {
    simulation.connect(sender.port, receiver.port, pausing_cable(headroom, response_ps));
    receiver.release = false;
  }
  void send(std::uint32_t count, std::uint8_t lane = 0) {
    for (std::uint32_t i = 0; i < count; ++i) sender.port.send(make_packet(1, kPayloadBytes, i, lane));
  }
  void release(std::uint32_t count, std::uint8_t lane = 0) {
    for (std::uint32_t i = 0; i < count; ++i)
      receiver.port.release(ib::VirtualLane{lane}, kPacketBytes, simulation.engine.now());
  }
  std::vector<TraceRecord> frames_of(std::uint32_t id) const {
    std::vector<TraceRecord> frames;
    for (const TraceRecord& record : simulation.trace.of(TraceEvent::kPauseFrame)) {
      if (record.component == id) frames.push_back(record);
    }
    return frames;
  }

  Simulation simulation;
  Host sender, receiver;
};

}  // namespace verbatim::fabric
