// Flow rules of an adapter (ibv_create_flow(3)): which frames go to which queue pairs, are dropped, marked or counted. Pure
// matching and bookkeeping; frame_steering.h delivers.
//
// Rules are tried in the order of their priority numbers, those of one number in the order in which they were
// made. The first rule that matches takes the frame, together with the rules of its priority that match on
// exactly the same fields; later rules get it only when all of these have the flag DONT_TRAP. The default
// rules take frames that no other rule has taken. Sniffers get a copy of all traffic of the port, and take
// nothing from other rules.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "sim/hca/slot.h"
#include "sim/ib/frame.h"
#include "verbs_shim/protocol/commands.h"

namespace verbatim::hca {

class QueuePair;

// ibv_flow_spec_type
enum FlowSpecType : std::uint32_t {
  kSpecEthernet = 0x20,
  kSpecIpv4 = 0x30,
  kSpecIpv6 = 0x31,
  kSpecIpv4Extended = 0x32,
  kSpecEsp = 0x34,
  kSpecTcp = 0x40,
  kSpecUdp = 0x41,
  kSpecVxlan = 0x50,
  kSpecGre = 0x51,
  kSpecMpls = 0x60,
  kSpecInner = 0x100,  // a flag: of what is in a tunnel
  kSpecTag = 0x1000,
  kSpecDrop = 0x1001,
  kSpecCount = 0x1003,
};

// ibv_flow_attr_type
enum class FlowType : std::uint32_t { kNormal = 0, kAllDefault = 1, kMulticastDefault = 2, kSniffer = 3 };
inline constexpr std::uint32_t kFlowDontTrap = 1 << 1, kFlowEgress = 1 << 2;  // ibv_flow_flags

inline constexpr std::uint32_t kCountPackets = 0, kCountBytes = 1;  // ibv_counter_description

// A counted quantity, and the index of the value that it is added to.
struct CounterPoint {
  std::uint32_t description = kCountPackets, index = 0;
};

// A set of values that flows add to (ibv_create_counters(3)).
struct FlowCounters {
  std::vector<CounterPoint> points;  // for every flow that was made with the set
  std::array<std::uint64_t, protocol::ReadCounters::kMost> values{};
  std::uint32_t flows = 0;  // bound to it

  void count(const CounterPoint& point, std::uint32_t bytes) {
    values[point.index] += point.description == kCountBytes ? bytes : 1;
  }
};

struct Flow {
  Ref<QueuePair> qp;
  FlowType type = FlowType::kNormal;
  std::uint16_t priority = 0;
  bool dont_trap = false;
  std::vector<protocol::FlowSpec> matches;  // all must
  std::uint32_t tag = 0;
  bool drops = false;
  FlowCounters* counters = nullptr;  // made with
  struct Point {
    FlowCounters* counters = nullptr;
    CounterPoint point;
  };
  std::vector<Point> points;  // attached later

  void count(std::uint32_t bytes) const;
};

class FlowTable {
 public:
  // 0, or the errno of a match that there is not: EINVAL, EOPNOTSUPP. `spec` is a match, not an action of a
  // rule. The place of an MPLS label depends on `before`, the spec before it (ibv_create_flow(3)); null: it
  // is the first.
  static int check_match(protocol::FlowSpec& spec, const protocol::FlowSpec* before);
  static bool matches(const protocol::FlowSpec& spec, const ib::Frame& frame);

  void add(Flow& flow);
  void remove(const Flow& flow);
  std::size_t size() const { return rules_.size(); }

  // Rules that take a frame, in order; of none of them when it is nobody's.
  void find(const ib::Frame& frame, bool to_group, std::vector<const Flow*>& found) const;
  bool has_sniffers() const { return sniffers_ > 0; }
  void find_sniffers(std::vector<const Flow*>& found) const;

 private:
  std::vector<Flow*> rules_;  // by priority, then in the order in which they were made
  std::uint32_t sniffers_ = 0;
};

}  // namespace verbatim::hca
