// Collective operations as messages: functions that append to a message graph what the ranks of a team do.
//
// One after the other: a rank begins with a collective when it has done the one before, and has done it when
// its receives have arrived and its sends have ended. Local work, such as adding up, takes no time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/workload/message_graph.h"

namespace verbatim::workload {

// The ranks that take part, and the last operation of each. Members are numbered from 0 by their places in `ranks`.
struct Team {
  explicit Team(std::vector<std::uint32_t> ranks) : ranks(std::move(ranks)), last(this->ranks.size(), kNoOperation) {}
  std::uint32_t size() const { return static_cast<std::uint32_t>(ranks.size()); }

  std::vector<std::uint32_t> ranks;  // of the graph, each once; at least 1
  std::vector<OperationId> last;     // by member: what follows starts when it has ended
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
  kDissemination,    // barrier: in round k each sends to the member 2^k further
  kTree,             // broadcast, all-reduce: binomial; an all-reduce adds up towards member 0, which broadcasts
  kChain,            // broadcast: from member to member
  kRing,             // all-reduce in 2(n-1) steps, all-gather and reduce-scatter in n-1, each of 1/n of the bytes
  kHalvingDoubling,  // all-reduce: halves exchanged between members ever nearer, then the way back
  kNcclRing,         // all-reduce as NCCL's: each channel has its share of the bytes, and does n chunks by a ring,
                     // then the next n
  kNcclTree,         // all-reduce as NCCL's: channels take turns between two binary trees; chunks follow each other
  kDirect,           // all-gather, reduce-scatter, all-to-all: everything at once, to the next member first
  kPairwise,         // all-to-all: in step k exchanges with the members k further and k before
  kGpipe,            // pipeline: all micro-batches forward, then all backward
  kOneForwardOneBackward,
};

// As scenarios spell them: "all-reduce", "nccl-ring".
std::string_view name_of(Pattern pattern);
std::string_view name_of(Algorithm algorithm);
// The first is what a scenario gets that names none.
const std::vector<Algorithm>& algorithms_of(Pattern pattern);

struct CollectiveParams {
  Pattern pattern = Pattern::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;  // of algorithms_of(pattern)
  // As nccl-tests counts them: broadcast and all-reduce: of the buffer; all-gather and reduce-scatter: of the
  // larger buffer, that of all members; all-to-all: of a member's buffer for all members. Barrier: of each
  // message.
  std::uint64_t bytes = 0;
  std::uint32_t root = 0;                 // of a broadcast: a member
  std::uint32_t channels = 1;             // of kNcclRing and kNcclTree: 1 to kMaxChannels
  std::uint64_t chunk_bytes = 512 << 10;  // of these; of kTree and kChain, 0: all bytes at once
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

// Neither kPipeline nor kExpertParallel (training.h).
Collective append_collective(MessageGraph& graph, Team& team, const CollectiveParams& params);
// An all-to-all in which member i sends sizes(i, j) bytes to j; where that is none, no message. kDirect or
// kPairwise.
Collective append_all_to_all(MessageGraph& graph, Team& team, Algorithm algorithm,
                             const std::function<std::uint64_t(std::uint32_t, std::uint32_t)>& sizes);

// Messages that each member at most sends or receives one after the other in the longest chain, where steps
// are equal; for tests and for estimates. 0: the pattern has no such number.
std::uint32_t steps_of(Pattern pattern, Algorithm algorithm, std::uint32_t members);

// As nccl-tests computes it: bytes over time, in bytes a second, and times the share that crosses a member's
// link at least: all-reduce 2(n-1)/n, all-gather, reduce-scatter and all-to-all (n-1)/n, broadcast 1. None: a
// pattern without.
struct Bandwidth {
  std::uint64_t algorithm = 0, bus = 0;
};
std::optional<Bandwidth> bandwidth_of(const Collective& collective, Duration time);

// Parents by member, and children, in the order in which they are sent to. The root's parent is itself.
struct Tree {
  std::vector<std::uint32_t> parents;
  std::vector<std::vector<std::uint32_t>> children;
  std::uint32_t root = 0;
};
Tree binomial_tree(std::uint32_t members, std::uint32_t root);
Tree chain_tree(std::uint32_t members, std::uint32_t root);
// The two of NCCL (Sanders, Speck, Traff, "Two-tree algorithms for full bandwidth broadcast, reduction and
// scan"): who has children in one has none, or one, in the other.
Tree double_binary_tree(std::uint32_t members, bool is_second);

}  // namespace verbatim::workload
