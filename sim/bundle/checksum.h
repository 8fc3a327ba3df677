// XXH3-128, the checksum of a bundle's contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace verbatim::bundle {

struct Checksum {
  std::uint64_t high = 0, low = 0;
  auto operator<=>(const Checksum&) const = default;
};

Checksum checksum_of(std::string_view bytes);

// 32 hexadecimal digits, and their inverse; other texts give a checksum of zeros.
std::string checksum_text(Checksum checksum);
Checksum checksum_from(std::string_view digits);

// The checksum of bytes that arrive in parts.
class RunningChecksum {
 public:
  RunningChecksum();
  ~RunningChecksum();
  void add(std::string_view bytes);
  Checksum value() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace verbatim::bundle
