// Quantities with units, read and written exactly: a decimal number, optionally a space, a unit. No floating
// point is used; values finer than the base unit are refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/time.h"

namespace verbatim::config {

enum class Dimension { kDuration, kFrequency, kSize, kRate, kLength, kDelayPerLength };

struct Unit {
  std::string_view name;
  std::int64_t factor;  // in base units
};

// Base units: ps, Hz, byte, bit/s, mm, fs/mm (1 ns/m = 1000 fs/mm; 4.96 ns/m stays whole).
const std::vector<Unit>& units_of(Dimension dimension);
std::string_view name_of(Dimension dimension);     // "a duration"
std::string_view example_of(Dimension dimension);  // "90 ns"
std::string_view usual_unit(Dimension dimension);  // "ns"

// The value in base units. On failure nullopt; `problem` is the error (without the text itself) and `hint`
// the remedy.
std::optional<std::int64_t> parse_quantity(std::string_view text, Dimension dimension, std::string* problem,
                                           std::string* hint);

// The shortest exact spelling: 1500000 ps is "1.5 us".
std::string format_quantity(std::int64_t value, Dimension dimension);

// Regular expression (ECMA) that accepts the spelling; it does not check ranges.
std::string pattern_of(Dimension dimension);

// InfiniBand lane rates (IBA 5.2) by width; ps per byte over all lanes is exact.
struct LinkRate {
  std::string_view speed;          // "EDR"
  std::uint32_t width = 0;         // lanes: 1, 2, 4, 8, 12
  ByteTime byte_time;              // one byte of payload data, after line coding
  std::uint32_t active_speed = 0;  // ibv_port_attr encodings
  std::uint32_t active_width = 0;
  friend bool operator==(const LinkRate&, const LinkRate&) = default;
};

// "EDR 4x", "EDR" (means 4x), or a data rate such as "100 Gbps": the 4x link with that rate, else the
// narrowest.
std::optional<LinkRate> parse_link_rate(std::string_view text, std::string* problem, std::string* hint);
std::string format_link_rate(const LinkRate& rate);
// The 4x link with that rate, else the narrowest; nullopt if no link has it.
std::optional<LinkRate> link_rate_of(ByteTime byte_time);
// Bits of data per second, rounded down to a whole Mbps.
std::int64_t bits_per_second(const LinkRate& rate);
std::string link_rate_pattern();
// Delay per metre times the length, rounded up to a whole picosecond.
Duration cable_delay(std::int64_t length_mm, std::int64_t fs_per_mm);

// Names of forward error correction codes, "RS(544,514)"; the first is "none".
std::vector<std::string_view> fec_names();
// Whether the speed's line coding defines blocks for FEC: FDR10 and faster.
bool has_fec(const LinkRate& rate);
// Whether the line code is 8b/10b: SDR, DDR, QDR. Each packet then has control symbols at both ends.
bool is_8b10b(const LinkRate& rate);
// Time of one code word on the line, rounded up to a whole picosecond; 0 for "none".
Duration fec_block_time(const LinkRate& rate, std::string_view fec);

}  // namespace verbatim::config
