#include "sim/management/performance_agent.h"

#include <algorithm>
#include <span>

#include "sim/mad/fields.h"

namespace verbatim::management {

namespace {

constexpr std::uint16_t kClassPortInfo = 0x0001, kPortCounters = 0x0012, kPortCountersExtended = 0x001d;
constexpr std::size_t kDataAt = 64, kDataBytes = 192;
constexpr std::uint8_t kAllPorts = 255;
// Capability mask: all ports can be selected, 64-bit counters, PortXmitWait.
constexpr std::uint16_t kAllPortSelect = 1 << 8, kExtendedWidth = 1 << 9, kHasTransmitWait = 1 << 12;

// Position of a counter, and its bit in CounterSelect (16 and up: in CounterSelect2).
struct Field {
  std::uint64_t PortCounts::*counter;
  std::uint8_t byte, bit, bits, select;
};

// IBA 16.1.3.5.
struct ShortFormat {
  static constexpr Field kFields[] = {
      {&PortCounts::symbol_errors, 4, 0, 16, 0},
      {&PortCounts::link_error_recoveries, 6, 0, 8, 1},
      {&PortCounts::links_downed, 7, 0, 8, 2},
      {&PortCounts::receive_errors, 8, 0, 16, 3},
      {&PortCounts::remote_physical_errors, 10, 0, 16, 4},
      {&PortCounts::switch_relay_errors, 12, 0, 16, 5},
      {&PortCounts::transmit_discards, 14, 0, 16, 6},
      {&PortCounts::transmit_constraint_errors, 16, 0, 8, 7},
      {&PortCounts::receive_constraint_errors, 17, 0, 8, 8},
      {&PortCounts::local_integrity_errors, 19, 0, 4, 9},
      {&PortCounts::buffer_overruns, 19, 4, 4, 10},
      {&PortCounts::vl15_dropped, 22, 0, 16, 11},
      {&PortCounts::words_transmitted, 24, 0, 32, 12},
      {&PortCounts::words_received, 28, 0, 32, 13},
      {&PortCounts::packets_transmitted, 32, 0, 32, 14},
      {&PortCounts::packets_received, 36, 0, 32, 15},
      {&PortCounts::transmit_wait, 40, 0, 32, 16},
  };
  static constexpr std::size_t kEnd = 44;
};

// IBA 16.1.4.11. The data counters of both formats are the same.
struct ExtendedFormat {
  static constexpr Field kFields[] = {
      {&PortCounts::words_transmitted, 8, 0, 64, 0},      {&PortCounts::words_received, 16, 0, 64, 1},
      {&PortCounts::packets_transmitted, 24, 0, 64, 2},   {&PortCounts::packets_received, 32, 0, 64, 3},
      {&PortCounts::multicast_transmitted, 56, 0, 64, 6}, {&PortCounts::multicast_received, 64, 0, 64, 7},
  };
  static constexpr std::size_t kEnd = 72;
};

// Unicast packets are the difference of all packets and multicast packets.
void put_unicast(mad::FieldWriter& fields, const PortCounts& counts) {
  fields.number(40, 0, 64, counts.packets_transmitted - counts.multicast_transmitted);
  fields.number(48, 0, 64, counts.packets_received - counts.multicast_received);
}

constexpr std::uint64_t kEndOf64 = ~0ull;
constexpr std::uint64_t end_of(unsigned bits) { return bits == 64 ? kEndOf64 : (1ull << bits) - 1; }

// All counters, for sums and differences.
constexpr std::uint64_t PortCounts::*kAllCounters[] = {
    &PortCounts::words_transmitted,      &PortCounts::words_received,         &PortCounts::packets_transmitted,
    &PortCounts::packets_received,       &PortCounts::multicast_transmitted,  &PortCounts::multicast_received,
    &PortCounts::symbol_errors,          &PortCounts::link_error_recoveries,  &PortCounts::links_downed,
    &PortCounts::receive_errors,         &PortCounts::remote_physical_errors, &PortCounts::switch_relay_errors,
    &PortCounts::transmit_discards,      &PortCounts::transmit_constraint_errors,
    &PortCounts::receive_constraint_errors, &PortCounts::local_integrity_errors, &PortCounts::buffer_overruns,
    &PortCounts::vl15_dropped,           &PortCounts::transmit_wait};
static_assert(sizeof kAllCounters == sizeof(PortCounts));

ib::Mad class_port_info(ib::Mad mad) {
  constexpr std::uint8_t kResponseTime = 18;
  std::fill(mad.begin() + kDataAt, mad.end(), std::byte{0});
  mad::FieldWriter fields{std::span(mad).subspan(kDataAt, kDataBytes)};
  fields.number(0, 0, 8, 1u);
  fields.number(1, 0, 8, 1u);
  fields.number(2, 0, 16, kAllPortSelect | kExtendedWidth | kHasTransmitWait);
  fields.number(7, 3, 5, kResponseTime);
  return mad;
}

}  // namespace

PortCounts PerformanceAgent::counts(std::uint8_t port) const {
  PortCounts counts = counters_.counts(port);
  const auto offset = offsets_.find(port);
  if (offset == offsets_.end()) return counts;
  for (const auto counter : kAllCounters) counts.*counter -= offset->second.*counter;
  return counts;
}

std::optional<PortCounts> PerformanceAgent::selected(std::uint8_t port) const {
  if (port != kAllPorts) return node_.has_port(port) ? std::optional(counts(port)) : std::nullopt;
  if (!node_.is_switch()) return std::nullopt;
  PortCounts sum;
  for (std::size_t i = 1; i < node_.ports.size(); ++i) {
    const PortCounts one = counts(static_cast<std::uint8_t>(i));
    for (const auto counter : kAllCounters) sum.*counter += one.*counter;
  }
  return sum;
}

template <class Format>
std::uint16_t PerformanceAgent::counters(ib::Mad& mad, bool sets, std::uint8_t in_port, std::uint16_t mask,
                                         std::uint16_t mask2) {
  const std::span data = std::span(mad).subspan(kDataAt, kDataBytes);
  auto number = std::to_integer<std::uint8_t>(data[1]);
  if (number == 0 && !node_.is_switch()) number = in_port;
  if (!selected(number)) return mad::kInvalidField;
  const std::uint32_t masks = mask | std::uint32_t{mask2} << 16;
  const std::size_t first = number == kAllPorts ? 1 : number;
  const std::size_t last = number == kAllPorts ? node_.ports.size() - 1 : number;
  for (const Field& field : Format::kFields) {
    if (!sets || (masks >> field.select & 1) == 0) continue;
    std::uint64_t value = 0;
    mad::FieldReader(data).number(field.byte, field.bit, field.bits, value);
    for (std::size_t i = first; i <= last; ++i) {
      const auto port = static_cast<std::uint8_t>(i);
      offsets_[port].*field.counter = counters_.counts(port).*field.counter - value;
    }
  }
  const PortCounts now = *selected(number);
  std::fill(data.begin() + 4, data.end(), std::byte{0});
  mad::FieldWriter fields(data);
  fields.number(1, 0, 8, number);
  fields.number(2, 0, 16, mask);
  for (const Field& field : Format::kFields) {
    fields.number(field.byte, field.bit, field.bits, std::min(now.*field.counter, end_of(field.bits)));
  }
  if constexpr (Format::kEnd == ExtendedFormat::kEnd) put_unicast(fields, now);
  return 0;
}

ib::Mad PerformanceAgent::answer(const ib::Mad& request, std::uint8_t in_port) {
  ib::Mad mad = request;
  mad::Header header = mad::header_of(request);
  const bool sets = header.method == mad::kSet;
  const mad::FieldReader fields{std::span(request).subspan(kDataAt, kDataBytes)};
  std::uint16_t mask = 0, mask2 = 0;
  fields.number(2, 0, 16, mask);
  fields.number(18, 0, 8, mask2);
  header.status = 0;
  if (header.base_version != 1 || header.class_version != 1) {
    header.status = mad::kBadVersion;
  } else if (!sets && header.method != mad::kGet) {
    header.status = mad::kUnsupportedMethod;
  } else if (header.attribute_id == kClassPortInfo) {
    if (sets) header.status = mad::kUnsupportedMethod;
    mad = class_port_info(mad);
  } else if (header.attribute_id == kPortCounters) {
    header.status = counters<ShortFormat>(mad, sets, in_port, mask, mask2);
  } else if (header.attribute_id == kPortCountersExtended) {
    header.status = counters<ExtendedFormat>(mad, sets, in_port, mask, 0);
  } else {
    header.status = mad::kUnsupportedAttribute;  // PortSamplesControl is not supported
  }
  header.method = mad::kGetResponse;
  mad::put_header(mad, header);
  return mad;
}

}  // namespace verbatim::management
