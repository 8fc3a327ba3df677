// Reads pcapng captures as the draft describes them, and checks the CRCs of what is in them bit by bit.
// Shares nothing with the code that writes them.
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
  std::size_t length = 0;           // on the wire
};

// Throws std::runtime_error with what is wrong with the file; that packets are cut is, unless they may be.
std::vector<Frame> read_pcapng(const std::string& path, bool may_be_cut = false);

// Where the BTH begins.
std::size_t bth_of(const Frame& frame);
// Whether the frame ends with the right ones; an Ethernet frame has no VCRC.
bool is_icrc_right(const Frame& frame);
bool is_vcrc_right(const Frame& frame);

}  // namespace verbatim::capture
