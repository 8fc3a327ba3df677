#include "sim/config/resolve_congestion.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "sim/config/headroom.h"
#include "sim/config/link_params.h"
#include "sim/config/load.h"
#include "sim/config/profile_files.h"
#include "sim/config/words.h"
#include "sim/fabric/port.h"

namespace verbatim::config {

namespace {

std::string bytes_text(std::uint64_t bytes) {
  return format_quantity(static_cast<std::int64_t>(bytes), Dimension::kSize);
}

// Frame sizes on a link: the smallest, and the largest that the buffers of a device are made for.
constexpr std::uint32_t kSmallestFrame = 64, kLargestFrame = fabric::kLeastInputBufferBytes;

class CongestionResolver {
 public:
  CongestionResolver(TopologySpec& topology, Diagnostics& diagnostics)
      : topology_(topology), diagnostics_(diagnostics) {}

  void run() {
    if (has_ethernet_adapter()) return;
    for (LinkSpec& link : topology_.links) {
      choose(link);
      if (link.flow_control == "pfc") {
        pauses(link);
        mismatches(link);
      }
      for (const Endpoint& end : {link.end_a, link.end_b}) buffer(link, end);
    }
    for (const SwitchSpec& one : topology_.switches) memory(one);
  }

 private:
  // Whether an adapter that is set up for Ethernet is on InfiniBand: one finding in place of one for each of its links.
  bool has_ethernet_adapter() {
    if (topology_.is_roce()) return false;
    for (const AdapterSpec& adapter : topology_.adapters) {
      const hca::HcaProfile& profile = topology_.hca_profile(adapter);
      if (profile.trust != "dscp" || profile.receive_buffer_bytes <= fabric::kMostInputBufferBytes) continue;
      const HostSpec& host = topology_.hosts[adapter.host];
      const std::string& reference = adapter.number == 0 ? host.hca : host.further_adapters[adapter.number - 1].hca;
      add("/link_layer", "the adapter profile " + in_quotes(reference) + " of host " + in_quotes(host.name) +
              " is of an Ethernet device, and the fabric is InfiniBand",
          "add \"link_layer\": \"roce\", or choose another profile");
      return true;
    }
    return false;
  }

  const fabric::SwitchProfile* switch_at(const Endpoint& end) const {
    return end.is_switch ? &topology_.switches[end.node].switch_profile : nullptr;
  }
  bool shares_memory(const Endpoint& end) const {
    return end.is_switch && switch_at(end)->shared_memory.bytes > 0;
  }
  std::uint32_t lanes_of(const Endpoint& end) const {
    return end.is_switch ? switch_at(end)->virtual_lanes
                         : topology_.hca_profile(topology_.adapters[end.node]).virtual_lanes;
  }
  std::uint32_t buffer_of(const Endpoint& end) const {
    return end.is_switch ? switch_at(end)->input_buffer_bytes
                         : topology_.hca_profile(topology_.adapters[end.node]).receive_buffer_bytes;
  }
  std::uint32_t cell_of(const Endpoint& end) const {
    return shares_memory(end) ? switch_at(end)->shared_memory.cell_bytes : fabric::kCreditBlockBytes;
  }

  // Cables of one generator share a place in the file, where each finding is reported once.
  void add(const std::string& pointer, std::string text, std::string hint) {
    if (found_.insert(pointer).second)
      diagnostics_.add(topology_.file, pointer, std::move(text), std::move(hint));
  }

  void choose(LinkSpec& link) const {
    if (link.flow_control != LinkSpec::kBySwitch) return;
    const bool is_shared = shares_memory(link.end_a) || shares_memory(link.end_b);
    link.flow_control = topology_.is_roce() && is_shared ? "pfc" : "credits";
  }

  void pauses(LinkSpec& link) {
    if (link.rate.byte_time.ps_numerator == 0) return;  // the rate already has a finding
    const std::string pointer = link.pointer + "/pfc";
    const std::uint32_t lanes = std::min(lanes_of(link.end_a), lanes_of(link.end_b));
    const auto lossless = parse_priorities(link.pfc.lossless_priorities);
    if (!lossless) {
      add(pointer + "/lossless_priorities",
          in_quotes(link.pfc.lossless_priorities) + " is not a list of priorities, 0 to 7",
          R"(write "3", "3,4" or "0-7")");
      return;
    }
    if (link.pfc.lossless_priorities != PauseSpec{}.lossless_priorities && *lossless >> lanes != 0) {
      const Endpoint& fewer = lanes_of(link.end_a) == lanes ? link.end_a : link.end_b;
      add(pointer + "/lossless_priorities",
          in_quotes(topology_.node_name(fewer)) + " has " + std::to_string(lanes) +
              (lanes == 1 ? " lane" : " lanes") + ", so priorities are 0 to " + std::to_string(lanes - 1),
          "give its profile \"virtual_lanes\": 8");
      return;
    }
    link.lossless_lanes =
        static_cast<std::uint8_t>(*lossless & ((1u << std::min(lanes, fabric::kPriorities)) - 1));
    if (!response(link, pointer) || !repeats(link, pointer)) return;
    headroom(link, pointer);
  }

  bool response(LinkSpec& link, const std::string& pointer) {
    const std::string& text = link.pfc.response;
    if (text == "ideal") return true;
    if (text == "ieee") {
      const std::uint64_t mbps = static_cast<std::uint64_t>(bits_per_second(link.rate)) / 1'000'000;
      const std::uint32_t quanta = pause_response_quanta(mbps);
      link.pause_response = line_time_of(link).time_for(std::uint64_t{quanta} * fabric::kPauseQuantumBytes);
      if (quanta != 0) return true;
      add(pointer + "/response", "IEEE 802.3 31B.3.7 is not known here for " + format_link_rate(link.rate),
          R"(write "ideal", or a duration such as "2 us")");
      return false;
    }
    std::string problem, hint;
    const auto duration = parse_quantity(text, Dimension::kDuration, &problem, &hint);
    if (duration && *duration >= 0 && *duration <= kSecondPs) {
      link.pause_response = Duration(*duration);
      return true;
    }
    add(pointer + "/response", in_quotes(text) + " is neither \"ideal\" nor \"ieee\" nor a duration",
        R"(write, for example, "2 us")");
    return false;
  }

  // Checks that a pause can be repeated before it ends: half of it must last longer than a packet on the line
  // plus the frame.
  bool repeats(const LinkSpec& link, const std::string& pointer) {
    const fabric::LinkParams params = link_params_of(link, topology_.is_roce());
    const std::uint32_t frames =
        kLargestFrame + fabric::kPauseFrameBytes + 2 * (params.bytes_before + params.bytes_after);
    const std::uint32_t least = 2 * frames / fabric::kPauseQuantumBytes + 1;
    if (link.pfc.quanta >= least) return true;
    add(pointer + "/quanta",
        "a pause of " + std::to_string(link.pfc.quanta) + " quanta may end before it can be repeated",
        "allowed: " + std::to_string(least) + " to 65535");
    return false;
  }

  void headroom(LinkSpec& link, const std::string& pointer) {
    const std::string& text = link.pfc.headroom;
    const std::uint32_t cell = std::max(cell_of(link.end_a), cell_of(link.end_b));
    if (text == "bound") {
      link.headroom_bytes =
          headroom_bound(link_params_of(link, topology_.is_roce()), kSmallestFrame, kLargestFrame, cell);
      return;
    }
    if (text == "sonic") {
      link.headroom_bytes =
          sonic_headroom({.rate_mbps = static_cast<std::uint64_t>(bits_per_second(link.rate)) / 1'000'000,
                          .cable_mm = static_cast<std::uint32_t>(link.length_mm),
                          .cell_bytes = cell});
      if (link.headroom_bytes != 0) return;
      add(pointer + "/headroom", "SONiC's table has no " + format_link_rate(link.rate),
          R"(write "bound", or a size such as "80 KiB")");
      return;
    }
    std::string problem, hint;
    const auto size = parse_quantity(text, Dimension::kSize, &problem, &hint);
    constexpr std::int64_t kMost = 1 << 30;
    if (size && *size >= 0 && *size <= kMost) {
      link.headroom_bytes = static_cast<std::uint32_t>(*size);
      return;
    }
    add(pointer + "/headroom", in_quotes(text) + " is neither \"bound\" nor \"sonic\" nor a size",
        R"(write, for example, "80 KiB")");
  }

  // Notes ends of a cable that do not match. Real fabrics have them, but a topology must allow them.
  void mismatches(const LinkSpec& link) {
    const std::string& a = topology_.node_name(link.end_a);
    const std::string& b = topology_.node_name(link.end_b);
    if (link.pfc.ends != "both") {
      const bool is_a = link.pfc.ends == "a";
      mismatch(link.pointer + "/pfc/ends",
               in_quotes(is_a ? a : b) + " pauses and is paused, and " + in_quotes(is_a ? b : a) +
                   " at the other end of its cable drops what finds no space and knows no pauses",
               "leave \"ends\" out");
    }
    if (const auto other = other_priority(link); other) {
      const auto [dscp, of_a, of_b] = *other;
      mismatch(link.pointer,
               "packets with DSCP " + std::to_string(dscp) + " have priority " + std::to_string(of_a) + " at " + in_quotes(a) +
                   " and priority " + std::to_string(of_b) + " at " + in_quotes(b) + ", of which one at least is lossless",
               "give both profiles the same \"dscp_to_priority\"");
    }
  }

  void mismatch(const std::string& pointer, const std::string& text, const std::string& hint) {
    if (topology_.allow_mismatch) return topology_.mismatches.push_back(text);
    add(pointer, text, hint + R"(, or give the topology "allow_mismatch": true to see what happens)");
  }

  struct OtherPriority {
    std::uint32_t dscp = 0, of_a = 0, of_b = 0;
  };
  // The first DSCP value to which both ends of a cable give different priorities, one of them lossless, if
  // both ends trust DSCP.
  std::optional<OtherPriority> other_priority(const LinkSpec& link) const {
    if (std::min(lanes_of(link.end_a), lanes_of(link.end_b)) == 1) return std::nullopt;
    const auto map_a = map_of(link.end_a), map_b = map_of(link.end_b);
    if (!map_a || !map_b) return std::nullopt;
    for (std::uint32_t dscp = 0; dscp < fabric::kDscps; ++dscp) {
      const std::uint32_t of_a = (*map_a)[dscp], of_b = (*map_b)[dscp];
      const std::uint32_t both = 1u << of_a | 1u << of_b;
      if (of_a != of_b && (link.lossless_lanes & both) != 0) return OtherPriority{dscp, of_a, of_b};
    }
    return std::nullopt;
  }
  using Map = std::array<std::uint8_t, fabric::kDscps>;
  // nullopt if the device trusts VLAN tags.
  std::optional<Map> map_of(const Endpoint& end) const {
    const auto make = [](const auto& profile) {
      return profile.trust == "dscp" ? std::optional(fabric::priorities_of(profile.dscp_to_priority)) : std::nullopt;
    };
    return end.is_switch ? make(*switch_at(end)) : make(topology_.hca_profile(topology_.adapters[end.node]));
  }

  // Checks the buffer of a lane at one end of a cable.
  void buffer(const LinkSpec& link, const Endpoint& end) {
    const std::uint32_t bytes = buffer_of(end);
    const std::string key = end.is_switch ? "input_buffer" : "receive_buffer";
    if (link.flow_control == "credits" && bytes > fabric::kMostInputBufferBytes) {
      add(link.pointer,
          in_quotes(topology_.node_name(end)) + " has " + bytes_text(bytes) +
              " for each lane, and credits can grant " + bytes_text(fabric::kMostInputBufferBytes) +
              " at the most (IBA 7.9.4.4)",
          "give its profile a smaller " + key);
    }
    if (!link.has_pauses_at(end) || shares_memory(end) || link.lossless_lanes == 0 ||
        bytes > link.headroom_bytes)
      return;
    add(link.pointer + "/pfc/headroom",
        in_quotes(topology_.node_name(end)) + " has " + bytes_text(bytes) +
            " for each lane, and the headroom takes " + bytes_text(link.headroom_bytes) + " of it",
        "give its profile a larger " + key + ", or the cable less length, response time or headroom");
  }

  void memory(const SwitchSpec& one) {
    const fabric::SharedMemoryParams& shared = one.switch_profile.shared_memory;
    if (shared.bytes == 0) return;
    const auto cells = [&](std::uint64_t bytes) {
      return (bytes + shared.cell_bytes - 1) / shared.cell_bytes;
    };
    std::uint64_t needed = 0;
    for (const LinkSpec& link : topology_.links) {
      if (link.flow_control == "credits") continue;
      for (const auto& [end, far] : {std::pair(link.end_a, link.end_b), std::pair(link.end_b, link.end_a)}) {
        if (!end.is_switch || &topology_.switches[end.node] != &one) continue;
        const std::uint32_t lanes = std::min(lanes_of(end), lanes_of(far));
        const auto lossless = static_cast<std::uint32_t>(link.has_pauses_at(end) ? std::popcount(link.lossless_lanes) : 0);
        needed += lanes * cells(shared.reserved_bytes) + lossless * cells(link.headroom_bytes);
      }
    }
    if (needed < shared.bytes / shared.cell_bytes) return;
    add(one.pointer,
        "the shared memory of " + in_quotes(one.name) + " has " + bytes_text(shared.bytes) +
            ", of which reserves and headrooms of its ports need " + bytes_text(needed * shared.cell_bytes),
        "pause fewer priorities (\"lossless_priorities\"), or give less headroom or more memory");
  }

  TopologySpec& topology_;
  Diagnostics& diagnostics_;
  std::set<std::string> found_;
};

}  // namespace

std::optional<std::uint8_t> parse_priorities(std::string_view text) {
  std::uint8_t all = 0;
  while (true) {
    const std::string_view one = text.substr(0, text.find(','));
    const auto is_priority = [](char c) { return c >= '0' && c <= '7'; };
    const bool is_range = one.size() == 3 && one[1] == '-';
    if (!(one.size() == 1 || is_range) || !is_priority(one.front()) || !is_priority(one.back()) ||
        one.front() > one.back()) {
      return std::nullopt;
    }
    for (char c = one.front(); c <= one.back(); ++c) all |= static_cast<std::uint8_t>(1u << (c - '0'));
    if (one.size() == text.size()) return all;
    text.remove_prefix(one.size() + 1);
  }
}

void resolve_marking(fabric::MarkingProfile& marking, const std::string& file, Diagnostics& diagnostics) {
  std::uint8_t marked = 0;
  for (fabric::MarkedQueues& queues : marking.queues) {
    const auto lanes = parse_priorities(queues.priorities);
    if (!lanes) {
      diagnostics.add(file, queues.pointer + "/priorities",
                      in_quotes(queues.priorities) + " is not a list of priorities, 0 to 7",
                      R"(write "3", "3,4" or "0-7")");
    } else if ((*lanes & marked) != 0) {
      diagnostics.add(file, queues.pointer + "/priorities",
                      "another entry has the curve of one of these priorities",
                      "give each priority one curve");
    } else {
      marked |= queues.lanes = *lanes;
    }
    if (queues.least_bytes > queues.most_bytes) {
      diagnostics.add(file, queues.pointer + "/kmin",
                      "kmin, " + format_quantity(queues.least_bytes, Dimension::kSize) + ", is above kmax, " +
                          format_quantity(queues.most_bytes, Dimension::kSize),
                      "the probability rises from kmin to kmax");
    }
  }
}

void resolve_congestion(TopologySpec& topology, Diagnostics& diagnostics) {
  CongestionResolver(topology, diagnostics).run();
}

}  // namespace verbatim::config
