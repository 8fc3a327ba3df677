#include "sim/config/quantity.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "sim/config/diagnostics.h"

namespace verbatim::config {

namespace {

using Wide = __int128;

struct DimensionInfo {
  std::string_view name;
  std::string_view example;
  std::vector<Unit> units;  // greatest first; the last one is the base unit
};

const DimensionInfo& info(Dimension dimension) {
  static const DimensionInfo kInfos[] = {
      {"a duration",
       "90 ns",
       {{"s", 1'000'000'000'000}, {"ms", 1'000'000'000}, {"us", 1'000'000}, {"ns", 1'000}, {"ps", 1}}},
      {"a frequency", "400 MHz", {{"GHz", 1'000'000'000}, {"MHz", 1'000'000}, {"kHz", 1'000}, {"Hz", 1}}},
      {"a size",
       "64 KiB",
       {{"TiB", 1ll << 40}, {"GiB", 1ll << 30}, {"MiB", 1ll << 20}, {"KiB", 1ll << 10}, {"B", 1}}},
      {"a rate",
       "100 Gbps",
       {{"Tbps", 1'000'000'000'000},
        {"Gbps", 1'000'000'000},
        {"Mbps", 1'000'000},
        {"kbps", 1'000},
        {"bps", 1}}},
      {"a length", "2 m", {{"km", 1'000'000}, {"m", 1'000}, {"cm", 10}, {"mm", 1}}},
      {"a delay per length", "4.6 ns/m", {{"ns/m", 1'000}, {"ps/m", 1}}},
  };
  return kInfos[static_cast<std::size_t>(dimension)];
}

struct Decimal {
  Wide digits = 0;
  int scale = 0;  // the value is digits / 10^scale
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes a decimal number off the front of `text`.
std::optional<Decimal> take_decimal(std::string_view& text) {
  Decimal result;
  std::size_t i = 0;
  bool any = false, point = false;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (is_digit(c)) {
      if (result.digits > Wide{1} << 100) return std::nullopt;
      result.digits = result.digits * 10 + (c - '0');
      if (point) ++result.scale;
      any = true;
    } else if (c == '.' && !point && any && i + 1 < text.size() && is_digit(text[i + 1])) {
      point = true;
    } else {
      break;
    }
  }
  if (!any || result.scale > 18) return std::nullopt;
  text.remove_prefix(i);
  return result;
}

// The factor of a unit of bytes per second, such as "GBps", "GB/s" or "MB"; nullopt for others.
std::optional<std::int64_t> byte_rate_factor(std::string_view unit) {
  for (const std::string_view end : {"Bps", "B/s", "B"}) {
    if (!unit.ends_with(end)) continue;
    unit.remove_suffix(end.size());
    constexpr std::pair<std::string_view, std::int64_t> kPrefixes[] = {
        {"", 1}, {"k", 1'000}, {"K", 1'000}, {"M", 1'000'000}, {"G", 1'000'000'000}, {"T", 1'000'000'000'000}};
    for (const auto& [prefix, factor] : kPrefixes) {
      if (unit == prefix) return factor;
    }
    return std::nullopt;
  }
  return std::nullopt;
}

// Hint for a rate in bytes; `text` is the number with its unit.
std::string hint_for_bytes(std::string_view text, const Decimal& number, std::int64_t factor) {
  const std::string rule = "B means bytes, and rates count bits";
  Wide divisor = 1;
  for (int i = 0; i < number.scale; ++i) divisor *= 10;
  constexpr Wide kMost = Wide{1} << 80;  // the product below does not overflow
  const Wide bits = number.digits > kMost ? 0 : number.digits * 8 * factor / divisor;
  if (bits == 0 || bits > std::numeric_limits<std::int64_t>::max()) return rule;
  return rule + ": " + std::string(text) + " is \"" + format_quantity(static_cast<std::int64_t>(bits), Dimension::kRate) + "\"";
}

std::string unit_list(Dimension dimension) {
  std::string list;
  for (const Unit& unit : info(dimension).units) list += (list.empty() ? "" : ", ") + std::string(unit.name);
  return list;
}

struct Speed {
  std::string_view name;
  ByteTime lane;  // one byte on one lane
  std::uint32_t active_speed;
};
// Data rates after line coding, facts/timing.md 1.1, in ps per byte on one lane.
constexpr Speed kSpeeds[] = {
    {"SDR", {4000, 1}, 1},  {"DDR", {2000, 1}, 2},  {"QDR", {1000, 1}, 4},
    {"FDR10", {800, 1}, 8}, {"FDR", {1760, 3}, 16}, {"EDR", {320, 1}, 32},
    {"HDR", {160, 1}, 64},  {"NDR", {80, 1}, 128},  {"XDR", {40, 1}, 256},
};
struct Width {
  std::uint32_t lanes;
  std::uint32_t active_width;
};
constexpr Width kWidths[] = {{1, 1}, {2, 16}, {4, 2}, {8, 4}, {12, 8}};

LinkRate make_rate(const Speed& speed, const Width& width) {
  const std::uint64_t common = std::gcd(speed.lane.ps_numerator, speed.lane.denominator * width.lanes);
  return LinkRate{speed.name, width.lanes,
                  ByteTime{speed.lane.ps_numerator / common, speed.lane.denominator * width.lanes / common},
                  speed.active_speed, width.active_width};
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace

const std::vector<Unit>& units_of(Dimension dimension) { return info(dimension).units; }
std::string_view usual_unit(Dimension dimension) {
  const std::string_view example = info(dimension).example;
  return example.substr(example.find(' ') + 1);
}
std::string_view name_of(Dimension dimension) { return info(dimension).name; }
std::string_view example_of(Dimension dimension) { return info(dimension).example; }

std::optional<std::int64_t> parse_quantity(std::string_view text, Dimension dimension, std::string* problem,
                                           std::string* hint) {
  const DimensionInfo& which = info(dimension);
  std::string_view rest = text;
  const auto number = take_decimal(rest);
  *problem = "is not " + std::string(which.name);
  *hint = "write it like \"" + std::string(which.example) + "\"";
  if (!number) return std::nullopt;
  const std::string digits(text.substr(0, text.size() - rest.size()));
  if (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  if (rest == "µs" || rest == "μs") rest = "us";
  const auto unit =
      std::find_if(which.units.begin(), which.units.end(), [&](const Unit& u) { return u.name == rest; });
  if (unit == which.units.end()) {
    std::vector<std::string> names;
    for (const Unit& u : which.units) names.emplace_back(u.name);
    const std::string near = rest.empty() ? "" : nearest(rest, names);
    if (rest.empty()) {
      *problem = "has no unit";
      *hint = "units are " + unit_list(dimension) + ", for example \"" + digits + " " + std::string(usual_unit(dimension)) + "\"";
    } else if (const auto bytes = dimension == Dimension::kRate ? byte_rate_factor(rest) : std::nullopt) {
      *hint = hint_for_bytes(text, *number, *bytes);
    } else if (!near.empty()) {
      *hint = "did you mean \"" + digits + " " + near + "\"?";
    } else {
      *hint = "units are " + unit_list(dimension);
    }
    return std::nullopt;
  }
  Wide divisor = 1;
  for (int i = 0; i < number->scale; ++i) divisor *= 10;
  // digits < 2^104 and the factor may be 2^40: common factors are divided out first, so that the product
  // fits.
  Wide factor = unit->factor;
  const auto gcd = [](Wide a, Wide b) {
    while (b != 0) std::swap(a %= b, b);
    return a;
  };
  const Wide common = gcd(factor, divisor);
  factor /= common;
  divisor /= common;
  if (number->digits % divisor != 0) {
    *problem = "is finer than one " + std::string(which.units.back().name);
    *hint = "round it to a whole number of " + std::string(which.units.back().name);
    return std::nullopt;
  }
  const Wide whole = number->digits / divisor;
  if (whole > std::numeric_limits<std::int64_t>::max() / factor) {
    *problem = "is too large";
    *hint = "the greatest value is " + format_quantity(std::numeric_limits<std::int64_t>::max(), dimension);
    return std::nullopt;
  }
  problem->clear();
  hint->clear();
  return static_cast<std::int64_t>(whole * factor);
}

std::string format_quantity(std::int64_t value, Dimension dimension) {
  const auto& units = info(dimension).units;
  if (value == 0) return "0 " + std::string(units.back().name);
  // Values in decimal units have at most three decimals, those in binary units none.
  const bool binary = dimension == Dimension::kSize;
  for (const Unit& unit : units) {
    if (value < unit.factor) continue;
    if (value % unit.factor == 0) return std::to_string(value / unit.factor) + " " + std::string(unit.name);
    if (!binary && unit.factor >= 1000 && value % (unit.factor / 1000) == 0) {
      std::string decimals = std::to_string(value % unit.factor / (unit.factor / 1000));
      decimals.insert(0, 3 - decimals.size(), '0');
      while (decimals.back() == '0') decimals.pop_back();
      return std::to_string(value / unit.factor) + "." + decimals + " " + std::string(unit.name);
    }
  }
  return std::to_string(value) + " " + std::string(units.back().name);
}

std::string pattern_of(Dimension dimension) {
  std::string alternatives;
  for (const Unit& unit : info(dimension).units) {
    alternatives += (alternatives.empty() ? "" : "|") + std::string(unit.name);
  }
  if (dimension == Dimension::kDuration) alternatives += "|µs|μs";
  return "^[0-9]+(\\.[0-9]+)? ?(" + alternatives + ")$";
}

std::optional<LinkRate> link_rate_of(ByteTime byte_time) {
  constexpr std::size_t kPreferred[] = {2, 0, 1, 3, 4};  // 4x first, then the narrowest
  for (const std::size_t w : kPreferred) {
    for (const Speed& speed : kSpeeds) {
      const LinkRate rate = make_rate(speed, kWidths[w]);
      if (rate.byte_time == byte_time) return rate;
    }
  }
  return std::nullopt;
}

// The byte time is a ratio in ps per byte.
std::int64_t bits_per_second(const LinkRate& rate) {
  return static_cast<std::int64_t>(8'000'000 * rate.byte_time.denominator / rate.byte_time.ps_numerator) * 1'000'000;
}

std::optional<LinkRate> parse_link_rate(std::string_view text, std::string* problem, std::string* hint) {
  problem->clear();
  hint->clear();
  if (!text.empty() && is_digit(text.front())) {
    const auto bits = parse_quantity(text, Dimension::kRate, problem, hint);
    if (!bits) return std::nullopt;
    if (*bits > 0) {
      if (const auto rate = link_rate_of(byte_time_of(static_cast<std::uint64_t>(*bits)))) return rate;
    }
    *problem = "is not the data rate of any InfiniBand link";
    *hint = "name speed and width, for example \"EDR 4x\" (100 Gbps)";
    return std::nullopt;
  }
  const std::size_t space = text.find(' ');
  const std::string name = upper(text.substr(0, space));
  const auto speed =
      std::find_if(std::begin(kSpeeds), std::end(kSpeeds), [&](const Speed& s) { return s.name == name; });
  if (speed == std::end(kSpeeds)) {
    std::vector<std::string> names;
    for (const Speed& s : kSpeeds) names.emplace_back(s.name);
    const std::string near = nearest(name, names);
    *problem = "is not a link rate";
    *hint = near.empty()
                ? "write speed and width, for example \"EDR 4x\", or a rate, for example \"100 Gbps\""
                : "did you mean \"" + near +
                      (space == std::string_view::npos ? "" : std::string(text.substr(space))) + "\"?";
    return std::nullopt;
  }
  std::string_view width_text = space == std::string_view::npos ? "4x" : text.substr(space + 1);
  for (const Width& width : kWidths) {
    if (width_text == std::to_string(width.lanes) + "x") return make_rate(*speed, width);
  }
  *problem = "has no such width";
  *hint = "widths are 1x, 2x, 4x, 8x and 12x";
  return std::nullopt;
}

std::string format_link_rate(const LinkRate& rate) {
  return std::string(rate.speed) + " " + std::to_string(rate.width) + "x";
}

std::string link_rate_pattern() {
  std::string names;
  for (const Speed& speed : kSpeeds) {
    if (!names.empty()) names += "|";
    for (const char c : speed.name) {
      if (std::isalpha(static_cast<unsigned char>(c))) {
        names += std::string("[") + c + static_cast<char>(std::tolower(c)) + "]";
      } else {
        names += c;
      }
    }
  }
  return "^((" + names + ")( (1|2|4|8|12)x)?|[0-9]+(\\.[0-9]+)? ?(Tbps|Gbps|Mbps|kbps|bps))$";
}

Duration cable_delay(std::int64_t length_mm, std::int64_t fs_per_mm) {
  const Wide fs = Wide{length_mm} * fs_per_mm;
  return Duration(static_cast<std::int64_t>((fs + 999) / 1000));
}

namespace {

struct Fec {
  std::string_view name;
  std::int64_t word_symbols;  // of 10 bits
};
constexpr Fec kFecs[] = {{"none", 0}, {"RS(528,514)", 528}, {"RS(544,514)", 544}, {"RS(271,257)", 271}};

}  // namespace

std::vector<std::string_view> fec_names() {
  std::vector<std::string_view> names;
  for (const Fec& fec : kFecs) names.push_back(fec.name);
  return names;
}

bool is_8b10b(const LinkRate& rate) { return rate.speed == "SDR" || rate.speed == "DDR" || rate.speed == "QDR"; }
bool has_fec(const LinkRate& rate) { return !is_8b10b(rate); }

// Line bits per data bit: 66/64 for speeds up to EDR; 257/256 times 544/514, which is 17/16, for the others.
Duration fec_block_time(const LinkRate& rate, std::string_view name) {
  const auto fec = std::find_if(std::begin(kFecs), std::end(kFecs), [&](const Fec& f) { return f.name == name; });
  CHECK(fec != std::end(kFecs));
  if (fec->word_symbols == 0) return Duration(0);
  const bool is_64b66b = rate.speed == "FDR10" || rate.speed == "FDR" || rate.speed == "EDR";
  const Wide coded = is_64b66b ? 33 : 17, plain = is_64b66b ? 32 : 16;
  const Wide numerator = Wide{fec->word_symbols} * 10 * plain * rate.byte_time.ps_numerator;
  const Wide denominator = coded * 8 * rate.byte_time.denominator;
  return Duration(static_cast<std::int64_t>((numerator + denominator - 1) / denominator));
}

}  // namespace verbatim::config
