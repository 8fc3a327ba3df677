// Per-request notes for the checks of programs (checks.h): written by the shim at the post, and by adapters.
#pragma once

#include <cstdint>

namespace verbatim::protocol {

enum class ReceiveNote : std::uint32_t {
  kNone = 0,
  kOutstanding,  // its completion has not been polled
  kWritten,      // outstanding, and its buffer changed between the post and the message; set by the adapter
};

// Note of the request in each slot of a ring.
struct PostNote {
  std::uint32_t value;   // fingerprint of its buffers at the post; 0: none was taken
  ReceiveNote receive;
  std::uint64_t caller;  // call site of the post in the program
  std::uint64_t outer;   // call site of the posting function, if the program keeps frame pointers; 0: unknown
};

// Receives are sampled: the first bytes of the first buffer of a queue's first receives, and then of every
// n-th.
inline constexpr std::uint32_t kReceiveBytesSeen = 128, kFirstReceivesSeen = 64, kReceivesPerSeen = 256;
constexpr bool is_receive_seen(std::uint32_t number) {
  return number < kFirstReceivesSeen || number % kReceivesPerSeen == 0;
}

// Continues `hash` with `count` words; the last one is padded with zeros.
constexpr std::uint64_t hash_words(std::uint64_t hash, const std::uint64_t* words, std::uint32_t count) {
  constexpr std::uint64_t kMultiplier = 0x9e37'79b9'7f4a'7c15;
  for (std::uint32_t i = 0; i < count; ++i) hash = (hash ^ words[i]) * kMultiplier ^ (hash >> 29);
  return hash;
}
// Never 0.
constexpr std::uint32_t fingerprint_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash ^ hash >> 32) | 1; }

}  // namespace verbatim::protocol
