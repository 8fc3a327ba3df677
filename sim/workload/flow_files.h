// Readers for flow files of other simulators. Nodes are numbers from 0.
//
// htsim's connection matrix (.cm):
//
//   Nodes 4
//   Connections 2
//   Triggers 1                                   optional, as Failures
//   0->1 id 1 start 0 size 1000000 send_done_trigger 1     start in ps, size in bytes, 0: endless
//   1->2 id 2 trigger 1 size 1000000 recv_done_trigger 2   starts when the trigger fires
//   trigger id 1 oneshot                         or multishot, or barrier count N
//   failure switch_type TOR switch_id 0 link_id 1
//
// HPCC's flow.txt: the number of flows, then lines `source destination priority port bytes start`, with
// ascending starts in seconds. Comments begin with #.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/workload/line_finding.h"
#include "sim/workload/traffic.h"

namespace verbatim::workload {

struct FlowFile {
  static constexpr std::uint32_t kMostNodes = 1 << 20;
  static constexpr std::uint32_t kMostFlows = 20'000'000;
  static constexpr std::size_t kMostFindings = 20;  // reading stops at this number

  struct Kind {
    std::uint32_t priority = 0;     // flow.txt only
    bool fires_on_arrival = false;  // a trigger waits for the arrival of its bytes
    friend bool operator==(const Kind&, const Kind&) = default;
  };
  // A failed link of a switch.
  struct Failure {
    enum class Tier : std::uint8_t { kTor, kAggregation, kCore };
    Tier tier = Tier::kTor;
    std::uint32_t number = 0;  // of the switch in its tier
    std::uint32_t link = 0;    // of its links towards the cores
    std::uint32_t line = 0;
  };

  std::uint32_t nodes = 0;      // flow.txt: the greatest node plus 1
  std::vector<FlowPlan> flows;  // from and to: nodes; kind: index into kinds
  std::vector<Kind> kinds;
  std::vector<TriggerPlan> triggers;
  std::vector<Failure> failures;
  // Connection matrix only; priorities order packets at receivers of protocols that this simulator does not
  // have.
  bool has_priorities = false;
};

enum class FlowFormat : std::uint8_t { kConnectionMatrix, kFlowList };
// By the first line that is not a comment; nullopt: neither format.
std::optional<FlowFormat> flow_format_of(std::string_view text);

// nullopt: there are findings.
std::optional<FlowFile> read_connection_matrix(std::string_view text, std::vector<LineFinding>& findings);
std::optional<FlowFile> read_flow_list(std::string_view text, std::vector<LineFinding>& findings);

}  // namespace verbatim::workload
