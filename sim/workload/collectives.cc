#include "sim/workload/collectives.h"

#include <algorithm>
#include <array>
#include <bit>

#include "sim/workload/team_writer.h"

namespace verbatim::workload {

namespace {

// Size of part `index` of `parts` nearly equal parts; the first ones may be larger by one byte.
std::uint64_t part_of(std::uint64_t bytes, std::uint32_t parts, std::uint32_t index) {
  return bytes / parts + (index < bytes % parts ? 1 : 0);
}

void append_barrier(TeamWriter& writer, std::uint64_t bytes) {
  const std::uint32_t n = writer.members(), tag = writer.graph().new_tag();
  for (std::uint32_t member = 0; member < n; ++member) {
    OperationId before = kNoOperation;
    for (std::uint64_t distance = 1; distance < n; distance *= 2) {
      const auto step = static_cast<std::uint32_t>(distance);
      writer.send(member, (member + step) % n, bytes, tag, 0, before);
      before = writer.receive(member, (member + n - step) % n, bytes, tag, before);
    }
  }
}

// A ring: in each of `steps`, a member sends part (member - step - shift), after it has received the part of
// the previous step. `before`: by member, the operation that the first step waits for; on return the last
// receive.
void append_ring(TeamWriter& writer, std::uint64_t bytes, std::uint32_t steps, std::uint32_t shift, std::uint32_t tag,
                 std::uint8_t lane, std::vector<OperationId>& before) {
  const std::uint32_t n = writer.members();
  for (std::uint32_t member = 0; member < n; ++member) {
    const std::uint32_t next = (member + 1) % n, previous = (member + n - 1) % n;
    for (std::uint32_t step = 0; step < steps; ++step) {
      const std::uint32_t part = (member + 2 * n - step % n - shift) % n;
      writer.send(member, next, part_of(bytes, n, part), tag, lane, before[member]);
      before[member] = writer.receive(member, previous, part_of(bytes, n, (part + n - 1) % n), tag);
    }
  }
}

void append_ring(TeamWriter& writer, std::uint64_t bytes, std::uint32_t steps, std::uint32_t shift) {
  std::vector<OperationId> before(writer.members(), kNoOperation);
  append_ring(writer, bytes, steps, shift, writer.graph().new_tag(), 0, before);
}

void append_nccl_ring(TeamWriter& writer, const CollectiveParams& params) {
  const std::uint32_t n = writer.members();
  for (std::uint32_t channel = 0; channel < params.channels; ++channel) {
    const std::uint32_t tag = writer.graph().new_tag();
    std::uint64_t left = part_of(params.bytes, params.channels, channel);
    std::vector<OperationId> before(n, kNoOperation);
    while (left > 0) {
      const std::uint64_t round = std::min(left, params.chunk_bytes * n);
      append_ring(writer, round, 2 * (n - 1), 0, tag, static_cast<std::uint8_t>(channel), before);
      left -= round;
    }
  }
}

// Chunks that pass through a tree in a pipeline: up to the root, which reduces them, down again, or both.
struct TreeWork {
  bool is_up = false, is_down = false;
  std::uint64_t bytes = 0, chunk_bytes = 0;  // 0: one chunk
  std::uint8_t lane = 0;
};
void append_tree(TeamWriter& writer, const Tree& tree, const TreeWork& work) {
  const std::uint32_t up = writer.graph().new_tag(), down = writer.graph().new_tag();
  const std::uint64_t most = work.chunk_bytes == 0 ? std::max<std::uint64_t>(work.bytes, 1) : work.chunk_bytes;
  for (std::uint32_t member = 0; member < writer.members(); ++member) {
    const std::uint32_t parent = tree.parents[member];
    std::uint64_t left = work.bytes;
    do {
      const std::uint64_t chunk = std::min(left, most);
      left -= chunk;
      std::vector<OperationId> arrived;  // receives of this chunk, one per child
      for (const std::uint32_t child : tree.children[member]) {
        if (work.is_up) arrived.push_back(writer.receive(member, child, chunk, up));
      }
      const auto wait_for_all = [&](OperationId send) {
        for (const OperationId one : arrived) writer.require(send, one);
      };
      if (member != tree.root) {
        if (work.is_up) wait_for_all(writer.send(member, parent, chunk, up, work.lane));
        if (work.is_down) arrived = {writer.receive(member, parent, chunk, down)};
      }
      for (const std::uint32_t child : tree.children[member]) {
        if (work.is_down) wait_for_all(writer.send(member, child, chunk, down, work.lane));
      }
    } while (left > 0);
  }
}

void append_nccl_tree(TeamWriter& writer, const CollectiveParams& params) {
  const std::array trees = {double_binary_tree(writer.members(), false), double_binary_tree(writer.members(), true)};
  for (std::uint32_t channel = 0; channel < params.channels; ++channel) {
    const std::uint64_t bytes = part_of(params.bytes, params.channels, channel);
    append_tree(writer, trees[channel % 2], {true, true, bytes, params.chunk_bytes, static_cast<std::uint8_t>(channel)});
  }
}

// The receive of a step is posted after the previous step has ended, because a message of a later step, from
// another member, may arrive earlier. Members beyond a power of two send their bytes to a neighbour first,
// and get the result from it.
void append_halving_doubling(TeamWriter& writer, std::uint64_t bytes) {
  const std::uint32_t n = writer.members(), tag = writer.graph().new_tag();
  const std::uint32_t power = std::bit_floor(n), extra = n - power;
  const auto member_of = [&](std::uint32_t place) { return place < extra ? 2 * place : place + extra; };
  const auto sum = [&](std::uint32_t first, std::uint32_t past) {
    std::uint64_t all = 0;
    for (std::uint32_t i = first; i < past; ++i) all += part_of(bytes, power, i);
    return all;
  };
  for (std::uint32_t place = 0; place < power; ++place) {
    const std::uint32_t member = member_of(place);
    OperationId before = kNoOperation;
    if (place < extra) {
      writer.send(member + 1, member, bytes, tag);
      before = writer.receive(member, member + 1, bytes, tag);
    }
    std::uint32_t first = 0, past = power;  // parts that the member still works on
    for (std::uint32_t distance = power / 2; distance > 0; distance /= 2) {
      const std::uint32_t partner = member_of(place ^ distance), middle = first + (past - first) / 2;
      const bool keeps_low = (place & distance) == 0;
      writer.send(member, partner, keeps_low ? sum(middle, past) : sum(first, middle), tag, 0, before);
      (keeps_low ? past : first) = middle;
      before = writer.receive(member, partner, sum(first, past), tag, before);
    }
    for (std::uint32_t distance = 1; distance < power; distance *= 2) {
      const std::uint32_t partner = member_of(place ^ distance), length = past - first;
      writer.send(member, partner, sum(first, past), tag, 0, before);
      const bool has_low = (place & distance) == 0;
      before = writer.receive(member, partner, has_low ? sum(past, past + length) : sum(first - length, first), tag, before);
      has_low ? past += length : first -= length;
    }
    if (place < extra) {
      writer.send(member, member + 1, bytes, tag, 0, before);
      writer.receive(member + 1, member, bytes, tag);
    }
  }
}

template <class Sizes>
void append_exchange(TeamWriter& writer, bool is_pairwise, Sizes sizes) {
  const std::uint32_t n = writer.members(), tag = writer.graph().new_tag();
  for (std::uint32_t member = 0; member < n; ++member) {
    OperationId sent = kNoOperation, received = kNoOperation;
    for (std::uint32_t step = 1; step < n; ++step) {
      const std::uint32_t to = (member + step) % n, from = (member + n - step) % n;
      const std::uint64_t out = sizes(member, to), in = sizes(from, member);
      OperationId send = kNoOperation, receive = kNoOperation;
      if (out > 0) send = writer.send(member, to, out, tag);
      if (in > 0) receive = writer.receive(member, from, in, tag, is_pairwise ? received : kNoOperation);
      if (!is_pairwise) continue;
      for (const OperationId before : {sent, received}) {
        if (before != kNoOperation && send != kNoOperation) writer.require(send, before);
      }
      if (send != kNoOperation) sent = send;
      if (receive != kNoOperation) received = receive;
    }
  }
}

}  // namespace

std::string_view name_of(Pattern pattern) {
  constexpr std::string_view kNames[] = {"barrier",        "broadcast",  "all-reduce", "all-gather",
                                         "reduce-scatter", "all-to-all", "pipeline",   "expert-parallel"};
  return kNames[static_cast<std::size_t>(pattern)];
}

std::string_view name_of(Algorithm algorithm) {
  constexpr std::string_view kNames[] = {"dissemination",    "tree",      "chain",     "ring",
                                         "halving-doubling", "nccl-ring", "nccl-tree", "direct",
                                         "pairwise",         "gpipe",     "1f1b"};
  return kNames[static_cast<std::size_t>(algorithm)];
}

const std::vector<Algorithm>& algorithms_of(Pattern pattern) {
  using enum Algorithm;
  static const std::vector<Algorithm> kAll[] = {
      {kDissemination},                                        // barrier
      {kTree, kChain},                                         // broadcast
      {kRing, kTree, kHalvingDoubling, kNcclRing, kNcclTree},  // all-reduce
      {kRing, kDirect},                                        // all-gather
      {kRing, kDirect},                                        // reduce-scatter
      {kDirect, kPairwise},                                    // all-to-all
      {kOneForwardOneBackward, kGpipe},                        // pipeline
      {kDirect, kPairwise},                                    // expert-parallel
  };
  return kAll[static_cast<std::size_t>(pattern)];
}

Collective append_collective(MessageGraph& graph, Team& team, const CollectiveParams& params) {
  const std::uint32_t n = team.size();
  CHECK(std::ranges::count(algorithms_of(params.pattern), params.algorithm) == 1 && params.root < n);
  CHECK(params.channels > 0 && params.channels <= kMaxChannels);
  TeamWriter writer(graph, team);
  const auto to_all = [&](std::uint32_t member, std::uint32_t) { return part_of(params.bytes, n, member); };
  const auto from_all = [&](std::uint32_t, std::uint32_t member) { return part_of(params.bytes, n, member); };
  const bool is_chunked = params.algorithm == Algorithm::kNcclRing || params.algorithm == Algorithm::kNcclTree;
  CHECK(!is_chunked || params.chunk_bytes > 0);
  if (n > 1) {
    switch (params.pattern) {
      case Pattern::kBarrier:
        append_barrier(writer, params.bytes);
        break;
      case Pattern::kBroadcast: {
        const Tree tree = params.algorithm == Algorithm::kTree ? binomial_tree(n, params.root) : chain_tree(n, params.root);
        append_tree(writer, tree, {false, true, params.bytes, params.chunk_bytes});
        break;
      }
      case Pattern::kAllReduce:
        if (params.algorithm == Algorithm::kRing) append_ring(writer, params.bytes, 2 * (n - 1), 0);
        if (params.algorithm == Algorithm::kTree) {
          append_tree(writer, binomial_tree(n, 0), {true, true, params.bytes, params.chunk_bytes});
        }
        if (params.algorithm == Algorithm::kHalvingDoubling) append_halving_doubling(writer, params.bytes);
        if (params.algorithm == Algorithm::kNcclRing) append_nccl_ring(writer, params);
        if (params.algorithm == Algorithm::kNcclTree) append_nccl_tree(writer, params);
        break;
      case Pattern::kAllGather:
        if (params.algorithm == Algorithm::kRing) append_ring(writer, params.bytes, n - 1, 0);
        if (params.algorithm == Algorithm::kDirect) append_exchange(writer, false, to_all);
        break;
      case Pattern::kReduceScatter:
        if (params.algorithm == Algorithm::kRing) append_ring(writer, params.bytes, n - 1, 1);
        if (params.algorithm == Algorithm::kDirect) append_exchange(writer, false, from_all);
        break;
      case Pattern::kAllToAll:
        append_exchange(writer, params.algorithm == Algorithm::kPairwise, from_all);
        break;
      case Pattern::kPipeline:
      case Pattern::kExpertParallel:
        CHECK(false);
    }
  }
  return writer.finish(params.pattern, params.algorithm, params.bytes);
}

Collective append_all_to_all(MessageGraph& graph, Team& team, Algorithm algorithm,
                             const std::function<std::uint64_t(std::uint32_t, std::uint32_t)>& sizes) {
  TeamWriter writer(graph, team);
  append_exchange(writer, algorithm == Algorithm::kPairwise,
                  [&](std::uint32_t from, std::uint32_t to) { return sizes(from, to); });
  std::uint64_t most = 0;
  for (std::uint32_t from = 0; from < team.size(); ++from) {
    std::uint64_t all = 0;
    for (std::uint32_t to = 0; to < team.size(); ++to) all += sizes(from, to);
    most = std::max(most, all);
  }
  return writer.finish(Pattern::kAllToAll, algorithm, most);
}

std::uint32_t steps_of(Pattern pattern, Algorithm algorithm, std::uint32_t members) {
  const auto rounds = static_cast<std::uint32_t>(std::bit_width(members - 1));
  if (pattern == Pattern::kBarrier || (pattern == Pattern::kBroadcast && algorithm == Algorithm::kTree)) return rounds;
  if (pattern == Pattern::kBroadcast) return members - 1;
  if (algorithm == Algorithm::kRing) return (pattern == Pattern::kAllReduce ? 2 : 1) * (members - 1);
  return 0;
}

std::optional<Bandwidth> bandwidth_of(const Collective& collective, Duration time) {
  std::uint64_t crossings = 0;  // in units of bytes / members
  const std::uint64_t n = collective.members;
  switch (collective.pattern) {
    case Pattern::kAllReduce:
      crossings = 2 * (n - 1);
      break;
    case Pattern::kAllGather:
    case Pattern::kReduceScatter:
    case Pattern::kAllToAll:
      crossings = n - 1;
      break;
    case Pattern::kBroadcast:
      crossings = n;
      break;
    case Pattern::kBarrier:
    case Pattern::kPipeline:
    case Pattern::kExpertParallel:
      return std::nullopt;
  }
  if (time <= Duration(0) || n == 0) return std::nullopt;
  constexpr unsigned __int128 kPsPerSecond = 1'000'000'000'000;
  const auto ps = static_cast<unsigned __int128>(time.count());
  const unsigned __int128 algorithm = collective.bytes * kPsPerSecond / ps;
  // Division in two steps: the product of picoseconds and members may exceed 64 bits.
  const unsigned __int128 bus = collective.bytes * kPsPerSecond / n * crossings / ps;
  return Bandwidth{static_cast<std::uint64_t>(algorithm), static_cast<std::uint64_t>(bus)};
}

namespace {

Tree tree_of(std::vector<std::uint32_t> parents, std::uint32_t root) {
  Tree tree{std::move(parents), {}, root};
  tree.children.resize(tree.parents.size());
  return tree;
}

}  // namespace

Tree binomial_tree(std::uint32_t members, std::uint32_t root) {
  std::vector<std::uint32_t> parents(members);
  const auto at = [&](std::uint32_t distance) {
    return static_cast<std::uint32_t>((std::uint64_t{root} + distance) % members);
  };
  for (std::uint32_t distance = 0; distance < members; ++distance) parents[at(distance)] = at(distance & (distance - 1));
  parents[root] = root;
  Tree tree = tree_of(std::move(parents), root);
  // The farthest child has the largest subtree.
  for (std::uint32_t distance = members - 1; distance > 0; --distance)
    tree.children[tree.parents[at(distance)]].push_back(at(distance));
  return tree;
}

Tree chain_tree(std::uint32_t members, std::uint32_t root) {
  std::vector<std::uint32_t> parents(members);
  for (std::uint32_t member = 0; member < members; ++member) parents[member] = (member + members - 1) % members;
  parents[root] = root;
  Tree tree = tree_of(std::move(parents), root);
  for (std::uint32_t member = 0; member < members; ++member) {
    if (member != root) tree.children[tree.parents[member]].push_back(member);
  }
  return tree;
}

// Member 0 is the root; the lowest set bit of the others is their height. The second tree is the mirror image
// of the first if the number of members is even, otherwise the first one rotated by one.
Tree double_binary_tree(std::uint32_t members, bool is_second) {
  const auto parent_of = [members](std::uint32_t member) -> std::uint32_t {
    const std::uint32_t bit = member & (0u - member);
    const std::uint64_t up = (std::uint64_t{member} ^ bit) | (std::uint64_t{bit} << 1);
    return up < members ? static_cast<std::uint32_t>(up) : member ^ bit;
  };
  const auto place = [&](std::uint32_t member) {
    if (!is_second) return member;
    return members % 2 == 0 ? members - 1 - member : (member + 1) % members;
  };
  std::vector<std::uint32_t> parents(members);
  for (std::uint32_t member = 1; member < members; ++member) parents[place(member)] = place(parent_of(member));
  const std::uint32_t root = place(0);
  parents[root] = root;
  Tree tree = tree_of(std::move(parents), root);
  for (std::uint32_t member = 0; member < members; ++member) {
    if (member != root) tree.children[tree.parents[member]].push_back(member);
  }
  return tree;
}

}  // namespace verbatim::workload
