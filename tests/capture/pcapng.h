// Reads pcapng captures according to the IETF draft and checks the CRCs of the packets bit by bit. Shares no
// code with the writer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace verbatim::capture {

struct Frame {
  std::string interface;
  std::string comment;
  std::uint64_t nanoseconds = 0;
  bool outbound = false;
  bool is_ethernet = false;
  std::vector<std::uint8_t> bytes;  // without the ERF header
  std::size_t length = 0;           // length on the wire
};

// Throws std::runtime_error with the error of the file. Cut packets are an error unless `may_be_cut`.
std::vector<Frame> read_pcapng(const std::string& path, bool may_be_cut = false);

// Offset of the BTH.
std::size_t bth_of(const Frame& frame);
// Whether the frame's ICRC and VCRC are right; an Ethernet frame has no VCRC.
bool is_icrc_right(const Frame& frame);
bool is_vcrc_right(const Frame& frame);

}  // namespace verbatim::capture
