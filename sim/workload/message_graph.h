// The operations of ranks: sends, receives and computations, and their dependencies. Collectives
// (collectives.h) and GOAL files (goal.h) are represented in this form; graph_run.h executes it.
//
// Operations of a rank depend on operations of the same rank; ranks wait for each other by messages only. A
// receive matches as in MPI: by sender and tag, the earliest message. Among operations of a rank that may
// start at the same time, the one added first starts first, as in a program. The interleaving of different
// ranks' operations has no effect.
//
// All data are in flat arrays: about 60 bytes per operation while it runs, and 8 per dependency.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/core/check.h"
#include "sim/core/time.h"

namespace verbatim::workload {

using OperationId = std::uint32_t;
inline constexpr OperationId kNoOperation = ~OperationId{0};
inline constexpr std::uint32_t kAnyRank = ~std::uint32_t{0};
inline constexpr std::uint32_t kAnyTag = ~std::uint32_t{0};

struct Operation {
  enum class Kind : std::uint8_t { kSend, kReceive, kCompute };

  std::uint64_t amount = 0;  // bytes; for a computation picoseconds
  std::uint32_t rank = 0;
  std::uint32_t peer = 0;  // receiver of a send; sender of a receive, or kAnyRank
  std::uint32_t tag = 0;   // for a receive also kAnyTag
  Kind kind = Kind::kSend;
  // Sends: different lanes use different queue pairs, so their messages may overtake each other.
  std::uint8_t lane = 0;
  std::uint16_t processor = 0;  // computations: those on one processor of the rank are sequential
};
static_assert(sizeof(Operation) == 24);

// "rank 3: receive of 10 bytes from any rank, tag 7"
std::string text_of(const Operation& operation);

class MessageGraph {
 public:
  static constexpr std::uint32_t kMaxOperations = (std::uint32_t{1} << 31) - 1;

  // `ranks`: 1 to 2^32 - 2.
  explicit MessageGraph(std::uint32_t ranks);

  // Each adds an operation; the graph may have kMaxOperations. Ranks are less than ranks(), tags less than
  // kAnyTag.
  OperationId send(std::uint32_t rank, std::uint32_t to, std::uint64_t bytes, std::uint32_t tag = 0, std::uint8_t lane = 0);
  // `bytes` is for reports only: messages of other lengths match as well.
  OperationId receive(std::uint32_t rank, std::uint32_t from, std::uint64_t bytes, std::uint32_t tag = 0);
  // A zero-time computation needs no processor. `time` must not be negative.
  OperationId compute(std::uint32_t rank, Duration time, std::uint16_t processor = 0);

  // `operation` starts after `before` has ended, or has started; both must belong to one rank.
  void require_end(OperationId operation, OperationId before) { add_dependency(operation, before, true); }
  void require_start(OperationId operation, OperationId before) { add_dependency(operation, before, false); }

  // A tag that this function has not returned before.
  std::uint32_t new_tag() { return next_tag_++; }

  std::uint32_t ranks() const { return ranks_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(operations_.size()); }
  const Operation& operator[](OperationId id) const { return operations_[id]; }

  // Completes the graph: nothing can be added afterwards, and successors() can be called.
  void seal();
  bool is_sealed() const { return !first_successor_.empty(); }
  struct Successor {
    std::uint32_t id : 31;
    std::uint32_t needs_end : 1;  // otherwise its start
  };
  // By id.
  std::span<const Successor> successors(OperationId id) const {
    return std::span(successors_).subspan(first_successor_[id], first_successor_[id + 1] - first_successor_[id]);
  }
  // Number of dependencies of each operation.
  std::vector<std::uint32_t> dependency_counts() const;

  // An operation on a cycle; nullopt: no cycle. The graph must be sealed.
  std::optional<OperationId> find_cycle() const;

  // Traffic of each rank in operations [first, past), without messages to itself.
  struct Traffic {
    std::uint64_t sent = 0, received = 0;  // bytes
    std::uint64_t messages = 0;            // sent
    std::uint64_t computed_ps = 0;         // on its processor 0
  };
  std::vector<Traffic> traffic(OperationId first, OperationId past) const;

 private:
  struct Dependency {
    OperationId before;
    Successor after;
  };
  static_assert(sizeof(Dependency) == 8);

  OperationId add(const Operation& operation);
  void add_dependency(OperationId operation, OperationId before, bool needs_end);

  const std::uint32_t ranks_;
  std::uint32_t next_tag_ = 0;
  std::vector<Operation> operations_;
  std::vector<Dependency> dependencies_;  // until seal()
  std::vector<std::uint32_t> first_successor_;
  std::vector<Successor> successors_;
};

}  // namespace verbatim::workload
