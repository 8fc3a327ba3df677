// How full a queue of a program was while it was there: figures for people.
#pragma once

#include <cstdint>
#include <string>

namespace verbatim::supervisor {

struct QueueFigures {
  std::string host;
  std::uint32_t process = 0;  // virtual pid
  std::string queue;          // "CQ 129", "QP 72"
  std::uint32_t send_entries = 0, send_most = 0, send_full = 0;  // of a QP: how many were outstanding at the most; full how often
  std::uint32_t recv_entries = 0, recv_least = 0;  // how few receives were posted when a message took one, that one included
  std::uint64_t receives_taken = 0;                // by messages, or flushed
  std::uint64_t rnr_naks = 0;                      // that it was sent
  std::uint32_t entries = 0, most = 0;             // of a CQ: how many completions it held at the most
};

}  // namespace verbatim::supervisor
