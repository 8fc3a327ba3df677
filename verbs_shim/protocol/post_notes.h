// What the shim keeps of work requests that are posted, for what is said of programs, and what adapters do with it.
#pragma once

#include <cstdint>

namespace verbatim::protocol {

enum class ReceiveNote : std::uint32_t {
  kNone = 0,
  kOutstanding,  // no completion of it has been polled
  kWritten,      // and its buffer was not, when the message came, what it was when it was posted: written by the adapter
};

// Of the request in each slot of a ring.
struct PostNote {
  std::uint32_t value;   // fingerprint of the bytes of its buffers when it was posted; 0: nothing is known of them
  ReceiveNote receive;
  std::uint64_t caller;  // where in the program it was posted
  std::uint64_t outer;   // where the function that posted it was called, if the program keeps frame pointers; 0: not known
};

// Of a receive the first bytes of its first buffer are looked at, and of a queue so many receives, and then one of so many.
inline constexpr std::uint32_t kReceiveBytesSeen = 128, kFirstReceivesSeen = 64, kReceivesPerSeen = 256;
constexpr bool is_receive_seen(std::uint32_t number) {
  return number < kFirstReceivesSeen || number % kReceivesPerSeen == 0;
}

// Goes on with `hash` by so many words; the last is filled up with zeros.
constexpr std::uint64_t hash_words(std::uint64_t hash, const std::uint64_t* words, std::uint32_t count) {
  constexpr std::uint64_t kMultiplier = 0x9e37'79b9'7f4a'7c15;
  for (std::uint32_t i = 0; i < count; ++i) hash = (hash ^ words[i]) * kMultiplier ^ (hash >> 29);
  return hash;
}
// Never 0.
constexpr std::uint32_t fingerprint_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash ^ hash >> 32) | 1; }

}  // namespace verbatim::protocol
