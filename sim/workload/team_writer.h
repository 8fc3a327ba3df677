// Appends operations of a team's members. Each starts after a given operation of the member or, by default,
// after the team's last operation of that member.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload/collectives.h"

namespace verbatim::workload {

class TeamWriter {
 public:
  TeamWriter(MessageGraph& graph, Team& team) : graph_(graph), team_(team), first_(graph.size()), made_(team.size()) {}

  std::uint32_t members() const { return team_.size(); }
  MessageGraph& graph() { return graph_; }

  OperationId send(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, std::uint32_t tag, std::uint8_t lane = 0,
                   OperationId after = kNoOperation) {
    return put(from, graph_.send(team_.ranks[from], team_.ranks[to], bytes, tag, lane), after);
  }
  OperationId receive(std::uint32_t to, std::uint32_t from, std::uint64_t bytes, std::uint32_t tag,
                      OperationId after = kNoOperation) {
    return put(to, graph_.receive(team_.ranks[to], team_.ranks[from], bytes, tag), after);
  }
  OperationId compute(std::uint32_t member, Duration time, OperationId after = kNoOperation) {
    return put(member, graph_.compute(team_.ranks[member], time), after);
  }
  void require(OperationId operation, OperationId before) { graph_.require_end(operation, before); }

  // Makes the team's next operations wait for all operations of this writer.
  Collective finish(Pattern pattern, Algorithm algorithm, std::uint64_t bytes) {
    for (std::uint32_t member = 0; member < members(); ++member) {
      if (made_[member].empty()) continue;
      const OperationId all = graph_.compute(team_.ranks[member], Duration(0));
      for (const OperationId one : made_[member]) graph_.require_end(all, one);
      team_.last[member] = all;
    }
    return {pattern, algorithm, members(), bytes, first_, graph_.size()};
  }

 private:
  OperationId put(std::uint32_t member, OperationId id, OperationId after) {
    if (after == kNoOperation) after = team_.last[member];
    if (after != kNoOperation) graph_.require_end(id, after);
    made_[member].push_back(id);
    return id;
  }

  MessageGraph& graph_;
  Team& team_;
  const OperationId first_;
  std::vector<std::vector<OperationId>> made_;  // by member
};

}  // namespace verbatim::workload
