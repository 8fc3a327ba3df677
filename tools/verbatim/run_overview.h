// A run from above: one row for each flow, the operations of collectives, and over time what each port sent
// and what waited in it. Memory is bounded by the fabric and the traffic, not by the length of the run.
// `verbatim run --record` keeps it beside the packets, and keeps it when there are too many packets to keep.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim::cli {

// The file of a recording, or of a folder of --keep-trace, that holds it.
inline constexpr char kOverviewFile[] = "overview";

struct RunOverview {
  // Rows beyond these are left out; the first flows are kept, and of operations those of evenly spaced ranks.
  static constexpr std::size_t kMostFlows = 4'000'000, kMostOperations = 2'000'000;
  // Values of all ports over time, of each kind.
  static constexpr std::size_t kMostCells = 16'000'000;

  struct Flow {
    std::uint32_t workload = 0, from = 0, to = 0;  // of `workloads` and `hosts`
    std::uint64_t bytes = 0, acknowledged = 0;     // bytes 0: without end
    std::int64_t start_ps = -1, finish_ps = -1;    // -1: it has not started, or not finished
    std::int64_t ideal_ps = -1;                    // the least time that it could take; -1: it is not known
    std::uint64_t again = 0;                       // packets that were sent again
    bool is_good = true;                           // false: it has failed
    bool is_finished() const { return is_good && start_ps >= 0 && finish_ps >= start_ps; }
  };
  // Part of a collective: a computation, or a message that a rank sends or gets.
  struct Operation {
    enum class Kind : std::uint8_t { kSend, kReceive, kCompute };
    std::uint32_t rank = 0, peer = 0;  // peer: of a message, the other rank
    Kind kind = Kind::kSend;
    std::uint64_t bytes = 0;  // of a message
    // The `from` of a receive is when its message was sent. to_ps -1: it has not ended.
    std::int64_t from_ps = 0, to_ps = -1;
  };
  struct Graph {
    std::string name, what;
    std::vector<std::uint32_t> hosts;   // by rank, of `hosts`
    std::uint32_t every = 1;            // the operations of ranks that this divides are kept
    std::vector<Operation> operations;  // those that have started
  };
  // One end of a cable, in the order of the topology's cables, both ends of each.
  struct Port {
    std::uint32_t tier = 0, far_tier = 0;  // of `tiers`
    std::uint32_t group = 0;               // of `groups`
    std::uint64_t bits_per_second = 0;
  };

  std::vector<std::string> hosts;      // adapters
  std::vector<std::string> workloads;  // by flows; "" for entries of "flows"
  std::vector<Flow> flows;
  std::uint64_t flows_left_out = 0;
  std::vector<Graph> graphs;
  std::vector<std::string> tiers;   // "host", "leaf"; ascending
  std::vector<std::string> groups;  // "pod3", "leaf0": what a port's node is in
  std::vector<Port> ports;
  std::vector<std::uint32_t> host_groups;  // by host
  // Parts of the time from the first packet on, by port: a port has `parts` values behind each other.
  std::int64_t begin_ps = 0, part_ps = 1;
  std::size_t parts = 0;
  std::vector<std::uint64_t> sent;     // bytes that began to leave in the part
  std::vector<std::uint32_t> deepest;  // the most bytes that waited in one of its output queues
  std::int64_t end_ps = 0;             // of the run
  std::int64_t detail_until_ps = -1;   // packets and the like are recorded until then; -1: to the end
  bool has_all_detail = true;          // false: packets and the like are recorded of a part of the run

  bool has_fabric() const { return parts != 0 && !ports.empty(); }
  std::string bytes() const;
  // False, and the end of a sentence: it is damaged.
  bool read(std::string_view content, std::string* problem);
};

}  // namespace verbatim::cli
