// Flows of a run before its start: plain values, as a run may have a million.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/time.h"
#include "sim/hca/work_source.h"
#include "sim/workload/poisson_flows.h"

namespace verbatim::workload {

// Spelling in scenarios and reports.
constexpr const char* name_of(hca::SourceWork::Operation operation) {
  switch (operation) {
    case hca::SourceWork::Operation::kWrite: return "write";
    case hca::SourceWork::Operation::kSend: return "send";
    case hca::SourceWork::Operation::kRead: return "read";
  }
  return "";
}

// Properties shared by the flows of one entry of a file.
struct FlowKind {
  std::string name;  // of the workload; empty: the flow has its own entry
  hca::SourceWork::Operation operation = hca::SourceWork::Operation::kWrite;
  std::uint32_t message_bytes = 1 << 20;
  std::uint32_t queue_pairs = 1;
  std::uint32_t depth = 128;  // maximum number of outstanding requests of a queue pair; perftest's default
  static constexpr std::uint32_t kOfPath = 16;
  std::uint32_t service_level = kOfPath;  // kOfPath: the path record's
  std::uint32_t traffic_class = 0;
  static constexpr std::uint32_t kAsData = 256;
  // Traffic class of packets without data: acknowledgements, on READ flows requests. kAsData: traffic_class.
  std::uint32_t acknowledgement_traffic_class = kAsData;
  std::uint8_t timeout = 14;  // transport timer, 0 to 31: 4.096 us x 2^timeout; 0: none
  // An endless flow posts requests for `on`, pauses for `off`; off 0: never pauses.
  Duration on{0}, off{0};
  bool is_background = false;  // the run does not wait for it
  friend bool operator==(const FlowKind&, const FlowKind&) = default;
};

struct FlowPlan {
  static constexpr std::uint32_t kNone = ~0u;
  std::uint32_t from = 0, to = 0;  // adapters of sender and receiver; READs are posted at `to`
  std::uint32_t kind = 0;          // index into Traffic::kinds
  std::uint16_t port = 0;          // receiver's port in HPCC's files, for reports; 0: not given
  std::uint64_t bytes = 0;         // 0: endless
  Duration start{0};               // from the start of the run, or from its trigger
  // Indices into Traffic::triggers.
  std::uint32_t trigger = kNone;      // starts the flow; kNone: the clock does
  std::uint32_t on_sent = kNone;      // fired when the last byte is acknowledged
  // Fired when the last byte is in the receiver's memory; the flow sends by SEND.
  std::uint32_t on_received = kNone;
  bool is_endless() const { return bytes == 0; }
  friend bool operator==(const FlowPlan&, const FlowPlan&) = default;
};

// Starts flows when others have ended.
struct TriggerPlan {
  enum class Kind : std::uint8_t {
    kAll,    // the first firing starts all its flows
    kNext,   // each firing starts one more of its flows, in order
    kCount,  // firing number `count` starts all its flows
  };
  Kind kind = Kind::kAll;
  std::uint32_t count = 1;
  friend bool operator==(const TriggerPlan&, const TriggerPlan&) = default;
};

// Random flows that arrive while the run lasts (PoissonLoad).
struct LoadPlan {
  std::uint32_t kind = 0;                     // index into Traffic::kinds
  std::vector<std::uint32_t> members;         // adapters
  std::vector<std::uint32_t> targets;         // hot destinations: indices into members
  std::uint64_t hot_share = 0, hot_parts = 1;
  std::vector<std::uint64_t> bits_per_second;  // by member
  std::uint32_t load = 0;                      // see PoissonParams
  std::uint64_t seed = 1;
  SizeDistribution sizes;
  Duration start{0};

  // The result refers to the plan's targets.
  PoissonParams arrivals() const;
};

struct Traffic {
  std::vector<FlowKind> kinds;
  std::vector<FlowPlan> flows;
  std::vector<TriggerPlan> triggers;
  std::vector<LoadPlan> loads;
  bool empty() const { return flows.empty(); }
  // Whether the run does not wait for the flow.
  bool is_background(const FlowPlan& flow) const { return flow.is_endless() || kinds[flow.kind].is_background; }
};

}  // namespace verbatim::workload
