#include "sim/workload/execution_trace.h"

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

namespace verbatim::workload {

namespace {

constexpr std::uint16_t kAccelerator = 0, kProcessor = 1;

std::string node_text(const TraceNode& node) { return "node " + std::to_string(node.id); }

// Approximate number of operations of a collective.
double operations_of(Pattern pattern, double members) {
  switch (pattern) {
    case Pattern::kBarrier:
      return 2 * members * std::bit_width(static_cast<std::uint32_t>(members));
    case Pattern::kBroadcast:
      return 4 * members;
    case Pattern::kAllReduce:
      return 4 * members * members;
    default:
      return 2 * members * members;
  }
}

class TraceGraph {
 public:
  TraceGraph(const std::vector<std::shared_ptr<const RankTrace>>& ranks, std::vector<TraceFinding>& findings)
      : ranks_(ranks),
        findings_(findings),
        graph_(static_cast<std::uint32_t>(ranks.size())),
        placed_(ranks.size()) {}

  std::shared_ptr<const MessageGraph> build() {
    check_nodes();
    if (!findings_.empty()) return nullptr;
    match_collectives();
    if (!findings_.empty()) return nullptr;
    add_operations();
    add_dependencies();
    graph_.seal();
    if (const auto circle = graph_.find_cycle()) {
      add((graph_)[*circle].rank, "nodes wait for each other in a circle", "take a dependency out");
      return nullptr;
    }
    return std::make_shared<const MessageGraph>(std::move(graph_));
  }

 private:
  // Operations of a rank's node: the one that waits for earlier nodes, and the one that later nodes wait for.
  struct Placed {
    OperationId first = kNoOperation, last = kNoOperation;
  };
  // The collectives of a group: for each member, the nodes that name the group.
  struct Group {
    std::vector<std::uint32_t> members;
    std::vector<std::vector<std::uint32_t>> nodes;  // by member; indices of its collectives in the trace
  };

  void add(std::size_t rank, std::string text, std::string hint) {
    if (findings_.size() < TraceLimits::kFindings)
      findings_.push_back({static_cast<std::uint32_t>(rank), std::move(text), std::move(hint)});
  }

  void check_nodes() {
    double operations = 0, computed = 0;
    std::map<const RankTrace*, std::unordered_map<std::uint64_t, std::uint32_t>> known;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const RankTrace& trace = *ranks_[rank];
      operations += static_cast<double>(trace.size());
      for (const TraceNode& node : trace) computed += static_cast<double>(node.time.count()) / 1e6;
      const auto [place, is_new] = known.try_emplace(&trace);
      places_.push_back(&place->second);
      check_peers(rank);
      if (!is_new) continue;
      for (std::uint32_t i = 0; i < trace.size(); ++i) {
        if (!place->second.emplace(trace[i].id, i).second)
          add(rank, "there are two nodes with id " + std::to_string(trace[i].id),
              "give each an id of its own");
      }
      for (const TraceNode& node : trace) {
        for (const std::uint64_t before : node.before) {
          if (!place->second.contains(before))
            add(rank, node_text(node) + " waits for node " + std::to_string(before) + ", and there is none",
                "leave out the dependency, or add the node");
        }
      }
    }
    known_ = std::move(known);
    if (operations == 0) add(0, "the traces have no nodes", "give one at least");
    if (operations > TraceLimits::kOperations)
      add(0, "the traces have more than 30 million nodes", "take shorter ones");
    if (computed > TraceLimits::kAllComputeUs)
      add(0, "the computations take longer than virtual time lasts", "make them shorter, or fewer");
  }

  void check_peers(std::size_t rank) {
    for (const TraceNode& node : *ranks_[rank]) {
      const bool has_peer = node.kind == TraceNode::Kind::kSend || node.kind == TraceNode::Kind::kReceive;
      if (has_peer && node.peer >= ranks_.size())
        add(rank,
            node_text(node) + " names rank " + std::to_string(node.peer) + " of " +
                std::to_string(ranks_.size()),
            "ranks are counted from 0; the workload needs a host for each");
    }
  }

  void match_collectives() {
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      const RankTrace& trace = *ranks_[rank];
      for (std::uint32_t i = 0; i < trace.size(); ++i) {
        if (trace[i].kind != TraceNode::Kind::kCollective) continue;
        Group& group = groups_[trace[i].group];
        if (group.members.empty() || group.members.back() != rank) {
          group.members.push_back(rank);
          group.nodes.emplace_back();
        }
        group.nodes.back().push_back(i);
      }
    }
    double operations = 0;
    for (const auto& [name, group] : groups_) {
      const std::uint32_t first = group.members.front();
      for (std::size_t m = 0; m < group.members.size(); ++m) check_member(name, group, m);
      for (const std::uint32_t i : group.nodes.front())
        operations += operations_of((*ranks_[first])[i].pattern, static_cast<double>(group.members.size()));
    }
    if (operations > TraceLimits::kOperations)
      add(0, "the collectives would have more than 30 million operations",
          "take fewer hosts, or shorter traces");
  }

  // The member must have the same collectives as the group's first member.
  void check_member(const std::string& name, const Group& group, std::size_t member) {
    const std::uint32_t first = group.members.front(), rank = group.members[member];
    const std::string of_group = name.empty() ? "" : " of group " + name;
    const auto &expected = group.nodes.front(), &own = group.nodes[member];
    if (own.size() != expected.size()) {
      return add(rank,
                 "the trace has " + std::to_string(own.size()) + " collectives" + of_group +
                     ", and that of rank " + std::to_string(first) + " has " +
                     std::to_string(expected.size()),
                 "all members of a group take part in all its collectives");
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
      const TraceNode &one = (*ranks_[rank])[own[i]], &other = (*ranks_[first])[expected[i]];
      if (one.pattern == other.pattern && one.bytes == other.bytes) continue;
      return add(rank,
                 node_text(one) + " and node " + std::to_string(other.id) + " of rank " +
                     std::to_string(first) + " are the same collective" + of_group +
                     ", and differ in type or size",
                 "collectives of a group match by their order");
    }
  }

  void add_operations() {
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      const RankTrace& trace = *ranks_[rank];
      placed_[rank].resize(trace.size());
      for (std::size_t i = 0; i < trace.size(); ++i) {
        const OperationId id = add_node(rank, trace[i]);
        placed_[rank][i] = {id, id};
      }
    }
    for (const auto& [name, group] : groups_) add_collectives(group);
  }

  // A collective begins, for this rank, with a zero-time operation.
  OperationId add_node(std::uint32_t rank, const TraceNode& node) {
    switch (node.kind) {
      case TraceNode::Kind::kCompute:
        return graph_.compute(rank, node.time, node.is_on_processor ? kProcessor : kAccelerator);
      case TraceNode::Kind::kSend:
        return graph_.send(rank, node.peer, node.bytes, tag_of(node.tag));
      case TraceNode::Kind::kReceive:
        return graph_.receive(rank, node.peer, node.bytes, tag_of(node.tag));
      case TraceNode::Kind::kCollective:
        return graph_.compute(rank, Duration(0));
    }
    CHECK(false);
  }

  // Maps a tag of the trace to a new one; collectives have separate tags.
  std::uint32_t tag_of(std::uint64_t tag) {
    const auto [place, is_new] = tags_.try_emplace(tag, 0);
    if (is_new) place->second = graph_.new_tag();
    return place->second;
  }

  void add_collectives(const Group& group) {
    for (std::size_t i = 0; i < group.nodes.front().size(); ++i) {
      Team team(group.members);
      for (std::size_t m = 0; m < group.members.size(); ++m)
        team.last[m] = placed_[group.members[m]][group.nodes[m][i]].first;
      const TraceNode& node = (*ranks_[group.members.front()])[group.nodes.front()[i]];
      append_collective(
          graph_, team,
          {.pattern = node.pattern, .algorithm = algorithms_of(node.pattern).front(), .bytes = node.bytes});
      for (std::size_t m = 0; m < group.members.size(); ++m)
        placed_[group.members[m]][group.nodes[m][i]].last = team.last[m];
    }
  }

  void add_dependencies() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const RankTrace& trace = *ranks_[rank];
      for (std::size_t i = 0; i < trace.size(); ++i) {
        for (const std::uint64_t before : trace[i].before)
          graph_.require_end(placed_[rank][i].first, placed_[rank][places_[rank]->at(before)].last);
      }
    }
  }

  const std::vector<std::shared_ptr<const RankTrace>>& ranks_;
  std::vector<TraceFinding>& findings_;
  MessageGraph graph_;
  std::map<const RankTrace*, std::unordered_map<std::uint64_t, std::uint32_t>>
      known_;  // by trace; for lookups only
  std::vector<const std::unordered_map<std::uint64_t, std::uint32_t>*>
      places_;  // by rank: indices of nodes by id
  std::map<std::string, Group> groups_;
  std::map<std::uint64_t, std::uint32_t> tags_;
  std::vector<std::vector<Placed>> placed_;  // by rank and index in the trace
};

}  // namespace

std::shared_ptr<const MessageGraph> graph_of(const std::vector<std::shared_ptr<const RankTrace>>& ranks,
                                             std::vector<TraceFinding>& findings) {
  return TraceGraph(ranks, findings).build();
}

}  // namespace verbatim::workload
