// The work of ranks, message by message: sends, receives and computations, and which of them wait for which
// others. It is the form of collectives (collectives.h) and of GOAL files (goal.h); graph_run.h executes it.
//
// Operations of a rank depend on operations of the same rank; ranks wait for each other by messages alone. A
// receive takes messages as in MPI: by sender and tag, the earliest that fits. Among operations of a rank
// that may start at the same time the one that was added first is first, as in a program. How operations of
// different ranks are interleaved changes nothing.
//
// Everything is in flat arrays: about 60 bytes for an operation while it runs, and 8 for a dependency.
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

  std::uint64_t amount = 0;  // bytes; of a computation picoseconds
  std::uint32_t rank = 0;
  std::uint32_t peer = 0;  // receiver of a send; sender of a receive, or kAnyRank
  std::uint32_t tag = 0;   // of a receive also kAnyTag
  Kind kind = Kind::kSend;
  std::uint8_t lane = 0;  // of a send: messages of different lanes use different queue pairs, and may overtake each other
  std::uint16_t processor = 0;  // of a computation: a processor of the rank does one after the other
};
static_assert(sizeof(Operation) == 24);

// "rank 3: receive of 10 bytes from any rank, tag 7"
std::string text_of(const Operation& operation);

class MessageGraph {
 public:
  static constexpr std::uint32_t kMaxOperations = (std::uint32_t{1} << 31) - 1;

  // 1 to 2^32 - 2.
  explicit MessageGraph(std::uint32_t ranks);

  // The graph has less than kMaxOperations. Ranks are less than ranks(), tags less than kAnyTag.
  OperationId send(std::uint32_t rank, std::uint32_t to, std::uint64_t bytes, std::uint32_t tag = 0, std::uint8_t lane = 0);
  // `bytes` is for reports: a longer or shorter message fits as well.
  OperationId receive(std::uint32_t rank, std::uint32_t from, std::uint64_t bytes, std::uint32_t tag = 0);
  // One of no time needs no processor. `time` is not negative.
  OperationId compute(std::uint32_t rank, Duration time, std::uint16_t processor = 0);

  // `operation` starts after `before` has ended, or has started; both are of one rank.
  void require_end(OperationId operation, OperationId before) { add_dependency(operation, before, true); }
  void require_start(OperationId operation, OperationId before) { add_dependency(operation, before, false); }

  // A tag that no operation has got by this function before.
  std::uint32_t new_tag() { return next_tag_++; }

  std::uint32_t ranks() const { return ranks_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(operations_.size()); }
  const Operation& operator[](OperationId id) const { return operations_[id]; }

  // No more is added: what waits for what can be asked from now on.
  void seal();
  bool is_sealed() const { return !first_successor_.empty(); }
  struct Successor {
    std::uint32_t id : 31;
    std::uint32_t needs_end : 1;  // else the start
  };
  // By id.
  std::span<const Successor> successors(OperationId id) const {
    return std::span(successors_).subspan(first_successor_[id], first_successor_[id + 1] - first_successor_[id]);
  }
  // For how many dependencies each operation waits.
  std::vector<std::uint32_t> dependency_counts() const;

  // An operation that waits for itself through others; none: there is no circle. Sealed.
  std::optional<OperationId> find_circle() const;

  // The work of each rank in operations [first, past), messages to itself left out.
  struct Traffic {
    std::uint64_t sent = 0, received = 0;  // bytes
    std::uint64_t messages = 0;            // sent
    std::uint64_t computed_ps = 0;         // by its processor 0
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
  std::vector<Dependency> dependencies_;  // until it is sealed
  std::vector<std::uint32_t> first_successor_;
  std::vector<Successor> successors_;
};

}  // namespace verbatim::workload
