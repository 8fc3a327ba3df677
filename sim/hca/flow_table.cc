#include "sim/hca/flow_table.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>

namespace verbatim::hca {

namespace {

using protocol::FlowSpec;
using Filter = std::array<std::uint8_t, FlowSpec::kFilterBytes>;

// Copies fields of a header to the places that a filter of <infiniband/verbs.h> has for them.
class FilterWriter {
 public:
  explicit FilterWriter(Filter& to) : to_(to) {}
  void put(std::span<const std::byte> bytes) {
    std::memcpy(&to_[at_], bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  void put8(unsigned value) { to_[at_++] = static_cast<std::uint8_t>(value); }
  void put16(unsigned value) {
    put8(value >> 8);
    put8(value);
  }
  void put32(std::uint32_t value) {
    put16(value >> 16);
    put16(value & 0xffff);
  }

 private:
  Filter& to_;
  std::size_t at_ = 0;
};

// Where a rule looks for labels of MPLS: behind the Ethernet header, or in a tunnel.
enum MplsPlace : std::uint32_t { kBehindEthernet, kOverUdp, kOverGre };

std::optional<std::uint32_t> labels_at(std::uint32_t place, const ib::FrameLayer& headers, const ib::Frame& frame) {
  if (place == kBehindEthernet) return headers.mpls;
  return frame.gre.has_value() == (place == kOverGre) ? frame.mpls : std::nullopt;
}

unsigned byte_at(std::span<const std::byte> header, std::size_t at) { return std::to_integer<unsigned>(header[at]); }

// IB_IPV4_DONT_FRAG and IB_IPV4_MORE_FRAG, which are the header's own bits one further up.
unsigned flags_of(std::span<const std::byte> ipv4) { return byte_at(ipv4, 6) >> 5 & 3; }

void put_ipv6(FilterWriter& out, const ib::FrameLayer& headers) {
  out.put(headers.ipv6.subspan(8, 32));
  const std::uint32_t first = byte_at(headers.ipv6, 0) << 24 | byte_at(headers.ipv6, 1) << 16 |
                              byte_at(headers.ipv6, 2) << 8 | byte_at(headers.ipv6, 3);
  out.put32(first & 0xfffff);
  out.put8(headers.protocol);
  out.put8(first >> 20 & 0xff);
  out.put8(byte_at(headers.ipv6, 7));
}

// The fields that a spec of this type looks at, laid out as its filter; false when the frame has no such header.
bool read_fields(const FlowSpec& spec, const ib::Frame& frame, Filter& to) {
  const std::uint32_t type = spec.type;
  const ib::FrameLayer& headers = (type & kSpecInner) != 0 ? frame.inner : frame.outer;
  FilterWriter out(to);
  switch (type & ~kSpecInner) {
    case kSpecEthernet:
      if (headers.ethernet.empty()) return false;
      out.put(headers.ethernet);
      out.put16(headers.ether_type);
      out.put16(headers.vlan.value_or(0));
      return true;
    case kSpecIpv4:
    case kSpecIpv4Extended:
      if (headers.ipv4.empty()) return false;
      out.put(headers.ipv4.subspan(12, 8));
      out.put8(headers.protocol);
      out.put8(byte_at(headers.ipv4, 1));
      out.put8(byte_at(headers.ipv4, 8));
      out.put8(flags_of(headers.ipv4));
      return true;
    case kSpecIpv6:
      if (headers.ipv6.empty()) return false;
      put_ipv6(out, headers);
      return true;
    case kSpecTcp:
    case kSpecUdp: {
      const bool wants_tcp = (type & ~kSpecInner) == kSpecTcp;
      if (headers.ports.empty() || headers.protocol != (wants_tcp ? ib::kProtocolTcp : ib::kProtocolUdp)) return false;
      out.put(headers.ports.subspan(2, 2));  // the filter has the destination first
      out.put(headers.ports.first(2));
      return true;
    }
    case kSpecVxlan:
      if (!frame.vxlan) return false;
      out.put32(*frame.vxlan);
      return true;
    case kSpecGre:
      if (!frame.gre) return false;
      out.put16(frame.gre->flags);
      out.put16(frame.gre->protocol);
      out.put32(frame.gre->key);
      return true;
    case kSpecMpls: {
      const auto labels = labels_at(spec.argument, headers, frame);
      if (labels) out.put32(*labels);
      return labels.has_value();
    }
    case kSpecEsp:
      if (headers.esp.empty()) return false;
      out.put(headers.esp);
      return true;
    default:
      return false;
  }
}

constexpr std::size_t kVlanAt = 14;  // in the filter of Ethernet

// Looks at exactly the same.
bool is_same_match(const Flow& a, const Flow& b) {
  return a.matches.size() == b.matches.size() &&
         std::equal(a.matches.begin(), a.matches.end(), b.matches.begin(), [](const FlowSpec& x, const FlowSpec& y) {
           return x.type == y.type && x.argument == y.argument && std::memcmp(x.value, y.value, sizeof(x.value)) == 0 &&
                  std::memcmp(x.mask, y.mask, sizeof(x.mask)) == 0;
         });
}

bool is_match(const Flow& flow, const ib::Frame& frame) {
  return std::all_of(flow.matches.begin(), flow.matches.end(),
                     [&](const FlowSpec& spec) { return FlowTable::matches(spec, frame); });
}

}  // namespace

void Flow::count(std::uint32_t bytes) const {
  if (counters != nullptr) {
    for (const CounterPoint& point : counters->points) counters->count(point, bytes);
  }
  for (const Point& each : points) each.counters->count(each.point, bytes);
}

int FlowTable::check_match(FlowSpec& spec, const FlowSpec* before) {
  spec.argument = 0;
  switch (spec.type & ~kSpecInner) {
    case kSpecEthernet:
    case kSpecIpv4:
    case kSpecIpv4Extended:
    case kSpecIpv6:
    case kSpecTcp:
    case kSpecUdp:
    case kSpecEsp:
      return 0;
    case kSpecVxlan:
    case kSpecGre:
      return (spec.type & kSpecInner) == 0 ? 0 : EINVAL;
    case kSpecMpls: {
      const std::uint32_t type = before == nullptr ? 0u : before->type;
      const bool is_tunnelled = (type & ~kSpecInner) == kSpecUdp || (type & ~kSpecInner) == kSpecGre;
      // Frames are looked into as far as one tunnel.
      if (is_tunnelled && ((spec.type | type) & kSpecInner) != 0) return EOPNOTSUPP;
      spec.argument = !is_tunnelled ? kBehindEthernet : type == kSpecUdp ? kOverUdp : kOverGre;
      return 0;
    }
    default:
      return EINVAL;
  }
}

bool FlowTable::matches(const protocol::FlowSpec& spec, const ib::Frame& frame) {
  Filter fields{};
  if (!read_fields(spec, frame, fields)) return false;
  // Whoever asks for bits of a VLAN tag asks for one that is there.
  const bool asks_for_tag = (spec.type & ~kSpecInner) == kSpecEthernet && (spec.mask[kVlanAt] | spec.mask[kVlanAt + 1]) != 0;
  const ib::FrameLayer& headers = (spec.type & kSpecInner) != 0 ? frame.inner : frame.outer;
  if (asks_for_tag && !headers.vlan) return false;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (((fields[i] ^ spec.value[i]) & spec.mask[i]) != 0) return false;
  }
  return true;
}

void FlowTable::add(Flow& flow) {
  const auto behind = std::upper_bound(rules_.begin(), rules_.end(), &flow,
                                       [](const Flow* a, const Flow* b) { return a->priority < b->priority; });
  rules_.insert(behind, &flow);
  if (flow.type == FlowType::kSniffer) ++sniffers_;
}

void FlowTable::remove(const Flow& flow) {
  std::erase(rules_, &flow);
  if (flow.type == FlowType::kSniffer) --sniffers_;
}

void FlowTable::find(const ib::Frame& frame, bool to_group, std::vector<const Flow*>& found) const {
  const Flow* taker = nullptr;  // it keeps the frame for itself and those like it
  for (const Flow* flow : rules_) {
    if (flow->type != FlowType::kNormal) continue;
    if (taker != nullptr && (flow->priority != taker->priority || !is_same_match(*flow, *taker))) continue;
    if (!is_match(*flow, frame)) continue;
    found.push_back(flow);
    if (taker == nullptr && !flow->dont_trap) taker = flow;
  }
  if (taker != nullptr) return;
  for (const Flow* flow : rules_) {
    const bool is_default =
        flow->type == FlowType::kAllDefault || (to_group && flow->type == FlowType::kMulticastDefault);
    if (is_default) found.push_back(flow);
  }
}

void FlowTable::find_sniffers(std::vector<const Flow*>& found) const {
  for (const Flow* flow : rules_) {
    if (flow->type == FlowType::kSniffer) found.push_back(flow);
  }
}

}  // namespace verbatim::hca
