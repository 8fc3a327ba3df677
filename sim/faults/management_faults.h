// Scripted faults of the management network: TCP segments, UDP datagrams and ICMP echo messages between hosts that are
// lost or late. The supervisor handles the consequences: a datagram is gone, a segment is retransmitted.
//
// A rule counts the transmissions that it could hit, including retransmissions. Its effect is recorded in the
// trace when it is decided: for all retransmissions of a segment at its first transmission.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/core/time.h"
#include "sim/core/trace.h"
#include "sim/faults/fault_script.h"

namespace verbatim::faults {

enum class ManagementProtocol : std::uint8_t { kTcp, kUdp, kIcmp };

struct ManagementRule {
  Selection selection;
  Instant after{};                      // earlier transmissions are not counted
  Duration delay{0};                    // zero: lost
  std::optional<ManagementProtocol> protocol;  // nullopt: all
  std::optional<std::size_t> from, to;  // host indices
};

class ManagementFaults {
 public:
  struct Fate {
    bool is_lost = false;
    Duration delay{0};
  };

  explicit ManagementFaults(Tracer& tracer) : tracer_(tracer) {}

  void add(const ManagementRule& rule) { entries_.push_back({rule}); }
  bool empty() const { return entries_.empty(); }
  std::uint64_t fired(std::size_t rule) const { return entries_.at(rule).fired; }
  std::uint64_t seen(std::size_t rule) const { return entries_.at(rule).seen; }

  // Applies the rules to a transmission that leaves host `from`, which is component `sender` in the trace,
  // for host `to` at `when`.
  Fate on_transmission(ManagementProtocol protocol, std::size_t from, ComponentId sender, std::size_t to, Instant when) {
    Fate fate;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      Entry& entry = entries_[i];
      const ManagementRule& rule = entry.rule;
      if (when < rule.after || rule.protocol.value_or(protocol) != protocol) continue;
      if (rule.from.value_or(from) != from || rule.to.value_or(to) != to) continue;
      if (!rule.selection.hits(++entry.seen)) continue;
      ++entry.fired;
      tracer_.record(sender, TraceEvent::kManagementFault, to, static_cast<std::uint64_t>(to_ps(when)),
                     static_cast<std::uint64_t>(rule.delay.count()), i);
      fate.is_lost |= rule.delay == Duration::zero();
      fate.delay += rule.delay;
    }
    return fate;
  }

 private:
  struct Entry {
    ManagementRule rule;
    std::uint64_t seen = 0;
    std::uint64_t fired = 0;
  };
  Tracer& tracer_;
  std::vector<Entry> entries_;
};

}  // namespace verbatim::faults
