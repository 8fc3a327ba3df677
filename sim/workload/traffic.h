// Flows of a run before it starts: plain values, of which a run has up to a million.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/time.h"
#include "sim/hca/work_source.h"

namespace verbatim::workload {

// Properties that the flows of one entry of a file share.
struct FlowKind {
  std::string name;  // of the workload; empty: the flow has an entry of its own
  hca::SourceWork::Operation operation = hca::SourceWork::Operation::kWrite;
  std::uint32_t message_bytes = 1 << 20;
  std::uint32_t queue_pairs = 1;
  std::uint32_t depth = 128;  // requests of a queue pair that are posted and not completed, at most; the default of perftest
  static constexpr std::uint32_t kOfPath = 16;
  std::uint32_t service_level = kOfPath;  // kOfPath: that of the path record
  std::uint32_t traffic_class = 0;
  std::uint8_t timeout = 14;  // of the transport timer, 0 to 31: 4.096 us x 2^timeout; 0: none
  Duration on{0}, off{0};      // an endless flow posts requests for `on`, then none for `off`; off 0: it never rests
  bool is_background = false;  // the run does not wait for it
  friend bool operator==(const FlowKind&, const FlowKind&) = default;
};

struct FlowPlan {
  static constexpr std::uint32_t kNone = ~0u;
  std::uint32_t from = 0, to = 0;  // adapters
  std::uint32_t kind = 0;          // index into Traffic::kinds
  std::uint64_t bytes = 0;         // 0: without end
  Duration start{0};               // from the start of the run, or after its trigger
  // Indices into Traffic::triggers.
  std::uint32_t trigger = kNone;      // starts the flow; kNone: the clock does
  std::uint32_t on_sent = kNone;      // fired when the last byte is acknowledged
  std::uint32_t on_received = kNone;  // fired when the last byte is in the receiver's memory; the flow sends by SEND
  bool is_endless() const { return bytes == 0; }
  friend bool operator==(const FlowPlan&, const FlowPlan&) = default;
};

// Starts flows when others have ended.
struct TriggerPlan {
  enum class Kind : std::uint8_t {
    kAll,    // the first firing starts all its flows
    kNext,   // each firing starts one more of its flows, in their order
    kCount,  // the firing with number `count` starts all its flows
  };
  Kind kind = Kind::kAll;
  std::uint32_t count = 1;
  friend bool operator==(const TriggerPlan&, const TriggerPlan&) = default;
};

struct Traffic {
  std::vector<FlowKind> kinds;
  std::vector<FlowPlan> flows;
  std::vector<TriggerPlan> triggers;
  bool empty() const { return flows.empty(); }
  // The run does not wait for it.
  bool is_background(const FlowPlan& flow) const { return flow.is_endless() || kinds[flow.kind].is_background; }
};

}  // namespace verbatim::workload
