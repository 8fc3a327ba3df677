#include "sim/workload/message_graph.h"

#include <algorithm>

namespace verbatim::workload {

namespace {

std::string time_text(std::uint64_t picoseconds) {
  constexpr std::uint64_t kPsPerNs = 1000;
  return picoseconds % kPsPerNs == 0 ? std::to_string(picoseconds / kPsPerNs) + " ns" : std::to_string(picoseconds) + " ps";
}

}  // namespace

std::string text_of(const Operation& operation) {
  const std::string rank = "rank " + std::to_string(operation.rank) + ": ";
  if (operation.kind == Operation::Kind::kCompute) return rank + "computation of " + time_text(operation.amount);
  const bool is_send = operation.kind == Operation::Kind::kSend;
  const std::string bytes = std::to_string(operation.amount) + (operation.amount == 1 ? " byte" : " bytes");
  const std::string peer = operation.peer == kAnyRank ? "any rank" : "rank " + std::to_string(operation.peer);
  const std::string tag = operation.tag == kAnyTag ? "any tag" : "tag " + std::to_string(operation.tag);
  return rank + (is_send ? "send of " : "receive of ") + bytes + (is_send ? " to " : " from ") + peer + ", " + tag;
}

MessageGraph::MessageGraph(std::uint32_t ranks) : ranks_(ranks) { CHECK(ranks > 0 && ranks < kAnyRank); }

OperationId MessageGraph::add(const Operation& operation) {
  CHECK(!is_sealed() && operation.rank < ranks_ && size() < kMaxOperations);
  operations_.push_back(operation);
  return size() - 1;
}

OperationId MessageGraph::send(std::uint32_t rank, std::uint32_t to, std::uint64_t bytes, std::uint32_t tag,
                               std::uint8_t lane) {
  CHECK(to < ranks_ && tag != kAnyTag);
  return add({bytes, rank, to, tag, Operation::Kind::kSend, lane, 0});
}

OperationId MessageGraph::receive(std::uint32_t rank, std::uint32_t from, std::uint64_t bytes, std::uint32_t tag) {
  CHECK(from < ranks_ || from == kAnyRank);
  return add({bytes, rank, from, tag, Operation::Kind::kReceive, 0, 0});
}

OperationId MessageGraph::compute(std::uint32_t rank, Duration time, std::uint16_t processor) {
  CHECK(time >= Duration(0));
  return add({static_cast<std::uint64_t>(time.count()), rank, 0, 0, Operation::Kind::kCompute, 0, processor});
}

void MessageGraph::add_dependency(OperationId operation, OperationId before, bool needs_end) {
  CHECK(!is_sealed() && operation < size() && before < size() && operations_[operation].rank == operations_[before].rank);
  dependencies_.push_back({before, {operation, needs_end ? 1u : 0u}});
}

void MessageGraph::seal() {
  CHECK(!is_sealed() && dependencies_.size() <= kMaxOperations);
  first_successor_.assign(std::size_t{size()} + 1, 0);
  for (const Dependency& one : dependencies_) ++first_successor_[one.before + 1];
  for (std::size_t i = 0; i < size(); ++i) first_successor_[i + 1] += first_successor_[i];
  successors_.resize(dependencies_.size());
  std::vector<std::uint32_t> next(first_successor_.begin(), first_successor_.end() - 1);
  for (const Dependency& one : dependencies_) successors_[next[one.before]++] = one.after;
  dependencies_ = {};
  for (std::size_t i = 0; i < size(); ++i) {
    std::sort(successors_.begin() + first_successor_[i], successors_.begin() + first_successor_[i + 1],
              [](Successor a, Successor b) { return a.id < b.id || (a.id == b.id && a.needs_end < b.needs_end); });
  }
}

std::vector<std::uint32_t> MessageGraph::dependency_counts() const {
  CHECK(is_sealed());
  std::vector<std::uint32_t> counts(size(), 0);
  for (const Successor& successor : successors_) ++counts[successor.id];
  return counts;
}

std::optional<OperationId> MessageGraph::find_cycle() const {
  std::vector<std::uint32_t> waits = dependency_counts();
  std::vector<OperationId> ready;
  for (OperationId id = 0; id < size(); ++id) {
    if (waits[id] == 0) ready.push_back(id);
  }
  std::size_t done = 0;
  for (; done < ready.size(); ++done) {
    for (const Successor& successor : successors(ready[done])) {
      if (--waits[successor.id] == 0) ready.push_back(successor.id);
    }
  }
  if (done == size()) return std::nullopt;
  // The remaining operations wait directly or indirectly for a cycle. Each has a predecessor that remains as
  // well: size() steps backwards end inside a cycle.
  std::vector<OperationId> before(size(), kNoOperation);
  OperationId at = kNoOperation;
  for (OperationId id = size(); id-- > 0;) {
    if (waits[id] == 0) continue;
    at = id;
    for (const Successor& successor : successors(id)) {
      if (waits[successor.id] > 0) before[successor.id] = id;
    }
  }
  for (std::uint32_t i = 0; i < size(); ++i) at = before[at];
  OperationId least = at;
  for (OperationId id = before[at]; id != at; id = before[id]) least = std::min(least, id);
  return least;
}

std::vector<MessageGraph::Traffic> MessageGraph::traffic(OperationId first, OperationId past) const {
  std::vector<Traffic> all(ranks_);
  for (OperationId id = first; id < past; ++id) {
    const Operation& one = operations_[id];
    if (one.kind == Operation::Kind::kCompute && one.processor == 0) all[one.rank].computed_ps += one.amount;
    if (one.kind != Operation::Kind::kSend || one.peer == one.rank) continue;
    all[one.rank].sent += one.amount;
    all[one.peer].received += one.amount;
    ++all[one.rank].messages;
  }
  return all;
}

}  // namespace verbatim::workload
