// Collective operations as messages: functions that append the operations of a team's ranks to a message
// graph.
//
// Collectives are sequential: a rank starts one after it has finished the previous one, that is, after its
// receives have arrived and its sends have ended. Local work, such as reductions, takes no time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/workload/message_graph.h"

namespace verbatim::workload {

// The participating ranks, and the last operation of each. Members are numbered from 0 by their index in
// `ranks`.
struct Team {
  explicit Team(std::vector<std::uint32_t> ranks) : ranks(std::move(ranks)), last(this->ranks.size(), kNoOperation) {}
  std::uint32_t size() const { return static_cast<std::uint32_t>(ranks.size()); }

  std::vector<std::uint32_t> ranks;  // ranks of the graph, each once; at least 1
  std::vector<OperationId> last;     // by member: later operations start when it has ended
};

enum class Pattern : std::uint8_t {
  kBarrier,
  kBroadcast,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kPipeline,
  kExpertParallel
};
enum class Algorithm : std::uint8_t {
  kDissemination,    // barrier: in round k each member sends to the member 2^k further
  kTree,             // broadcast, all-reduce: binomial; an all-reduce is a reduction to member 0 and a
                     // broadcast
  kChain,            // broadcast: from member to member
  kRing,             // all-reduce in 2(n-1) steps, all-gather and reduce-scatter in n-1, each of 1/n of the
                     // bytes
  kHalvingDoubling,  // all-reduce: halves exchanged at halving, then at doubling distances
  kNcclRing,         // all-reduce as in NCCL: each channel has its share of the bytes, and processes n chunks
                     // at a time by a ring
  kNcclTree,         // all-reduce as in NCCL: channels alternate between two binary trees; chunks are
                     // pipelined
  kDirect,           // all-gather, reduce-scatter, all-to-all: everything at once, to the next member first
  kPairwise,         // all-to-all: in step k exchanges with the members k further and k before
  kGpipe,            // pipeline: all micro-batches forward, then all backward
  kOneForwardOneBackward,
};

// Spelling in scenarios: "all-reduce", "nccl-ring".
std::string_view name_of(Pattern pattern);
std::string_view name_of(Algorithm algorithm);
// The first is the default.
const std::vector<Algorithm>& algorithms_of(Pattern pattern);

struct CollectiveParams {
  Pattern pattern = Pattern::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;  // of algorithms_of(pattern)
  // As nccl-tests counts them. Broadcast and all-reduce: size of the buffer. All-gather and reduce-scatter:
  // size of the larger buffer, with the parts of all members. All-to-all: size of a member's buffer for all
  // members. Barrier: size of each message.
  std::uint64_t bytes = 0;
  std::uint32_t root = 0;                 // broadcast: a member
  std::uint32_t channels = 1;             // for kNcclRing and kNcclTree: 1 to kMaxChannels
  std::uint64_t chunk_bytes = 512 << 10;  // for these; for kTree and kChain, 0: all bytes at once
};
inline constexpr std::uint32_t kMaxChannels = 64;

// One collective in a graph.
struct Collective {
  Pattern pattern = Pattern::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  std::uint32_t members = 0;
  std::uint64_t bytes = 0;  // see CollectiveParams
  OperationId first = 0, past = 0;
};

// For all patterns but kPipeline and kExpertParallel (training.h).
Collective append_collective(MessageGraph& graph, Team& team, const CollectiveParams& params);
// An all-to-all in which member i sends sizes(i, j) bytes to j, and no message if that is 0. kDirect or
// kPairwise.
Collective append_all_to_all(MessageGraph& graph, Team& team, Algorithm algorithm,
                             const std::function<std::uint64_t(std::uint32_t, std::uint32_t)>& sizes);

// Number of sequential messages of a member in the longest chain, if the steps are equal; for tests and
// estimates. 0: the pattern has no such number.
std::uint32_t steps_of(Pattern pattern, Algorithm algorithm, std::uint32_t members);

// As nccl-tests computes it, in bytes per second: bytes over time, and this times the share that crosses a
// member's link at least: all-reduce 2(n-1)/n, all-gather, reduce-scatter and all-to-all (n-1)/n, broadcast
// 1. nullopt: not defined for the pattern.
struct Bandwidth {
  std::uint64_t algorithm = 0, bus = 0;
};
std::optional<Bandwidth> bandwidth_of(const Collective& collective, Duration time);

// Parents by member, and children in the order of the sends to them. The root's parent is itself.
struct Tree {
  std::vector<std::uint32_t> parents;
  std::vector<std::vector<std::uint32_t>> children;
  std::uint32_t root = 0;
};
Tree binomial_tree(std::uint32_t members, std::uint32_t root);
Tree chain_tree(std::uint32_t members, std::uint32_t root);
// NCCL's two trees (Sanders, Speck, Traff, "Two-tree algorithms for full bandwidth broadcast, reduction and
// scan"): a member with children in one has none, or one, in the other.
Tree double_binary_tree(std::uint32_t members, bool is_second);

}  // namespace verbatim::workload
