// Overview of a run: a row for each flow, the operations of collectives, and for each port the sent bytes and
// queue depths over time. Memory is bounded by fabric and traffic, not by the length of the run. `verbatim
// run --record` stores it in addition to packets, and also if there are too many packets to store.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim::cli {

// File of a recording, or of a folder of --keep-trace, with the overview.
inline constexpr char kOverviewFile[] = "overview";

struct RunOverview {
  // Limits of the rows: the first flows are kept, and the operations of evenly spaced ranks.
  static constexpr std::size_t kMostFlows = 4'000'000, kMostOperations = 2'000'000;
  // Limit of the values of all ports over time, for each kind.
  static constexpr std::size_t kMostCells = 16'000'000;

  struct Flow {
    std::uint32_t workload = 0, from = 0, to = 0;  // indices in `workloads` and `hosts`
    std::uint64_t bytes = 0, acknowledged = 0;     // bytes 0: endless
    std::int64_t start_ps = -1, finish_ps = -1;    // -1: not started, not finished
    std::int64_t ideal_ps = -1;                    // lower bound of its duration; -1: unknown
    std::uint64_t again = 0;                       // retransmitted packets
    bool is_good = true;                           // false: failed
    bool is_finished() const { return is_good && start_ps >= 0 && finish_ps >= start_ps; }
  };
  // Part of a collective: a computation, or a message that a rank sends or receives.
  struct Operation {
    enum class Kind : std::uint8_t { kSend, kReceive, kCompute };
    std::uint32_t rank = 0, peer = 0;  // peer: the other rank of a message
    Kind kind = Kind::kSend;
    std::uint64_t bytes = 0;  // of a message
    // The start of a receive is the time at which its message was sent. to_ps -1: not ended.
    std::int64_t from_ps = 0, to_ps = -1;
  };
  struct Graph {
    std::string name, what;
    std::vector<std::uint32_t> hosts;   // by rank: index in `hosts`
    std::uint32_t every = 1;            // operations of ranks divisible by this are kept
    std::vector<Operation> operations;  // only started ones
  };
  // An end of a cable; both ends of each cable, in the topology's order.
  struct Port {
    std::uint32_t tier = 0, far_tier = 0;  // indices in `tiers`
    std::uint32_t group = 0;               // index in `groups`
    std::uint64_t bits_per_second = 0;
  };

  std::vector<std::string> hosts;      // adapters
  std::vector<std::string> workloads;  // by flows; "" for the entries of "flows"
  std::vector<Flow> flows;
  std::uint64_t flows_left_out = 0;
  std::vector<Graph> graphs;
  std::vector<std::string> tiers;   // "host", "leaf"; ascending
  std::vector<std::string> groups;  // "pod3", "leaf0": groups of nodes
  std::vector<Port> ports;
  std::vector<std::uint32_t> host_groups;  // by host
  // Values over parts of the time from the first packet on; each port has `parts` consecutive values.
  std::int64_t begin_ps = 0, part_ps = 1;
  std::size_t parts = 0;
  std::vector<std::uint64_t> sent;     // bytes of packets that began in the part
  std::vector<std::uint32_t> deepest;  // most bytes in one of the port's output queues
  std::int64_t end_ps = 0;             // of the run
  std::int64_t detail_until_ps = -1;   // packets are recorded until then; -1: until the end
  bool has_all_detail = true;          // false: packets are recorded for a part of the run only

  bool has_fabric() const { return parts != 0 && !ports.empty(); }
  std::string bytes() const;
  // Returns false, with the end of a sentence, if the content is damaged.
  bool read(std::string_view content, std::string* problem);
};

}  // namespace verbatim::cli
