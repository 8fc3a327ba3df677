#include "sim/ib/aeth.h"

#include <algorithm>
#include <iterator>

#include "sim/core/check.h"

namespace verbatim::ib {

namespace {

// IBA table 46.
constexpr std::uint32_t kCredits[] = {0,    1,    2,    3,    4,    6,     8,     12,    16,   24,   32,
                                      48,   64,   96,   128,  192,  256,   384,   512,   768,  1024, 1536,
                                      2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};
static_assert(std::size(kCredits) == kUnlimitedCredits);

// IBA table 45, microseconds.
constexpr std::int64_t kRnrMicroseconds[] = {655360, 10,    20,    30,     40,     60,     80,     120,
                                             160,    240,   320,   480,    640,    960,    1280,   1920,
                                             2560,   3840,  5120,  7680,   10240,  15360,  20480,  30720,
                                             40960,  61440, 81920, 122880, 163840, 245760, 327680, 491520};
static_assert(std::size(kRnrMicroseconds) == 32);

}  // namespace

std::optional<NakCode> nak_code(std::uint8_t syndrome) {
  if (ack_kind(syndrome) != AckKind::kNak) return std::nullopt;
  if (ack_value(syndrome) > static_cast<std::uint8_t>(NakCode::kInvalidRdRequest)) return std::nullopt;
  return static_cast<NakCode>(ack_value(syndrome));
}

std::uint8_t credit_code(std::uint32_t receives) {
  const auto above = std::upper_bound(std::begin(kCredits), std::end(kCredits), receives);
  return static_cast<std::uint8_t>(above - std::begin(kCredits) - 1);
}

std::optional<std::uint32_t> credits_of(std::uint8_t credit_code) {
  CHECK(credit_code <= kUnlimitedCredits);
  if (credit_code == kUnlimitedCredits) return std::nullopt;
  return kCredits[credit_code];
}

Duration rnr_timer(std::uint8_t timer_code) {
  CHECK(timer_code < std::size(kRnrMicroseconds));
  return std::chrono::microseconds(kRnrMicroseconds[timer_code]);
}

}  // namespace verbatim::ib
