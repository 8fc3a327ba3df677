// Fill levels of a program's queue during its lifetime; for people.
#pragma once

#include <cstdint>
#include <string>

namespace verbatim::supervisor {

struct QueueFigures {
  std::string host;
  std::uint32_t process = 0;  // virtual pid
  std::string queue;          // "CQ 129", "QP 72"
  // QP: entries, maximum outstanding, times full
  std::uint32_t send_entries = 0, send_most = 0, send_full = 0;
  // entries; minimum of posted receives when a message took one, that one included
  std::uint32_t recv_entries = 0, recv_least = 0;
  std::uint64_t receives_taken = 0;                // by messages or flushes
  std::uint64_t rnr_naks = 0;                      // RNR NAKs received
  std::uint32_t entries = 0, most = 0;             // CQ: entries, maximum of completions held
};

}  // namespace verbatim::supervisor
