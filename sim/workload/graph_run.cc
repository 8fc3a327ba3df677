#include "sim/workload/graph_run.h"

#include <algorithm>
#include <tuple>

namespace verbatim::workload {

using ib::WcStatus;
using Kind = Operation::Kind;
using SendBy = hca::SourceWork::Operation;

GraphRun::Processor::Processor(GraphRun& run, hca::Endpoint& endpoint)
    : run(run), timer(Timer::of<&Processor::on_computed>(run.engine_, endpoint.component(), EventClass::kStage, this)) {}

GraphRun::Start::Start(GraphRun& run, hca::Endpoint& endpoint, std::uint32_t rank)
    : run(run), rank(rank), timer(Timer::of<&Start::on_start>(run.engine_, endpoint.component(), EventClass::kStage, this)) {
  timer.schedule_at(run.params_.start);
}

GraphRun::GraphRun(Engine& engine, const MessageGraph& graph, const std::vector<hca::Endpoint*>& places, const Paths& paths,
                   const GraphRunParams& params, std::size_t& unfinished)
    : engine_(engine),
      graph_(graph),
      params_(params),
      unfinished_(unfinished),
      waits_(graph.dependency_counts()),
      slots_(graph.size(), kNone),
      next_(graph.size(), kNoOperation),
      partners_(graph.size(), kNoOperation),
      routes_(graph.size(), nullptr),
      started_(graph.size(), kNever),
      ended_(graph.size(), kNever),
      active_(graph.ranks()) {
  CHECK(graph.size() > 0 && places.size() == graph.ranks());
  connect(places, paths);
  assign_mailboxes();
  assign_processors(places);
  first_of_rank_.assign(std::size_t{graph.ranks()} + 1, 0);
  for (OperationId id = 0; id < graph.size(); ++id) {
    if (waits_[id] == 0) ++first_of_rank_[graph[id].rank + 1];
  }
  for (std::size_t rank = 0; rank < graph.ranks(); ++rank) first_of_rank_[rank + 1] += first_of_rank_[rank];
  by_rank_.resize(first_of_rank_.back());
  std::vector<std::uint32_t> place(first_of_rank_.begin(), first_of_rank_.end() - 1);
  for (OperationId id = 0; id < graph.size(); ++id) {
    if (waits_[id] == 0) by_rank_[place[graph[id].rank]++] = id;
  }
  for (std::uint32_t rank = 0; rank < graph.ranks(); ++rank) starts_.emplace_back(*this, *places[rank], rank);
  ++unfinished_;
}

// Queue pairs are numbered by ranks and lanes, independent of the order of the operations.
void GraphRun::connect(const std::vector<hca::Endpoint*>& places, const Paths& paths) {
  struct Pair {
    std::uint32_t low, high;
    std::uint8_t lane;
    auto operator<=>(const Pair&) const = default;
  };
  const auto pair_of = [](const Operation& send) {
    return Pair{std::min(send.rank, send.peer), std::max(send.rank, send.peer), send.lane};
  };
  const auto is_remote = [&](const Operation& one) {
    return one.kind == Kind::kSend && places[one.rank] != places[one.peer];
  };
  std::vector<Pair> pairs;
  for (OperationId id = 0; id < graph_.size(); ++id) {
    if (!is_remote(graph_[id])) continue;
    const Pair pair = pair_of(graph_[id]);
    if (pairs.empty() || pairs.back() != pair) pairs.push_back(pair);
  }
  std::ranges::sort(pairs);
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  for (const Pair& pair : pairs) {
    hca::Endpoint &low = *places[pair.low], &high = *places[pair.high];
    const auto add = [&](hca::Endpoint& endpoint, std::uint32_t rank) -> End& {
      End& end = ends_.emplace_back(*this, endpoint);
      end.rank = rank;
      end.own = endpoint.add_source(end, std::min(kDepth, endpoint.profile().max_qp_wr));
      return end;
    };
    End& first = add(low, pair.low);
    End& second = add(high, pair.high);
    first.peer = &second;
    second.peer = &first;
    FlowPaths both = paths(pair.low, pair.high);
    both.there.peer = second.own;
    both.back.peer = first.own;
    low.connect_source(first.own.number, both.there);
    high.connect_source(second.own.number, both.back);
  }
  for (OperationId id = 0; id < graph_.size(); ++id) {
    if (!is_remote(graph_[id])) continue;
    const auto index = static_cast<std::size_t>(std::ranges::lower_bound(pairs, pair_of(graph_[id])) - pairs.begin());
    routes_[id] = &ends_[2 * index + (graph_[id].rank < graph_[id].peer ? 0 : 1)];
  }
}

void GraphRun::assign_mailboxes() {
  std::vector<bool> has_any(graph_.ranks());
  for (OperationId id = 0; id < graph_.size(); ++id) {
    const Operation& one = graph_[id];
    if (one.kind == Kind::kReceive && (one.peer == kAnyRank || one.tag == kAnyTag)) has_any[one.rank] = true;
  }
  // Receiver, sender and tag; only the receiver for ranks with a receive from any rank or with any tag.
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  const auto key_of = [&](const Operation& one) {
    const bool is_send = one.kind == Kind::kSend;
    const std::uint32_t receiver = is_send ? one.peer : one.rank;
    return has_any[receiver] ? Key(receiver, kAnyRank, kAnyTag) : Key(receiver, is_send ? one.rank : one.peer, one.tag);
  };
  std::vector<Key> keys;
  for (OperationId id = 0; id < graph_.size(); ++id) {
    if (graph_[id].kind == Kind::kSend) keys.push_back(key_of(graph_[id]));
  }
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  mailboxes_.resize(keys.size());
  for (OperationId id = 0; id < graph_.size(); ++id) {
    if (graph_[id].kind == Kind::kCompute) continue;
    const Key key = key_of(graph_[id]);
    const auto found = std::ranges::lower_bound(keys, key);
    if (found != keys.end() && *found == key) slots_[id] = static_cast<std::uint32_t>(found - keys.begin());
  }
}

void GraphRun::assign_processors(const std::vector<hca::Endpoint*>& places) {
  using Key = std::pair<std::uint32_t, std::uint16_t>;
  const auto is_long = [](const Operation& one) { return one.kind == Kind::kCompute && one.amount > 0; };
  std::vector<Key> keys;
  for (OperationId id = 0; id < graph_.size(); ++id) {
    if (is_long(graph_[id])) keys.emplace_back(graph_[id].rank, graph_[id].processor);
  }
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (const Key& key : keys) processors_.emplace_back(*this, *places[key.first]);
  for (OperationId id = 0; id < graph_.size(); ++id) {
    if (!is_long(graph_[id])) continue;
    const auto found = std::ranges::lower_bound(keys, Key(graph_[id].rank, graph_[id].processor));
    slots_[id] = static_cast<std::uint32_t>(found - keys.begin());
  }
}

void GraphRun::append(List& list, OperationId id) {
  next_[id] = kNoOperation;
  (list.first == kNoOperation ? list.first : next_[list.last]) = id;
  list.last = id;
}

template <class Fits>
OperationId GraphRun::take_first(List& list, Fits fits) {
  OperationId before = kNoOperation;
  for (OperationId id = list.first; id != kNoOperation; before = id, id = next_[id]) {
    if (!fits(id)) continue;
    (before == kNoOperation ? list.first : next_[before]) = next_[id];
    if (list.last == id) list.last = before;
    return id;
  }
  return kNoOperation;
}

bool GraphRun::fits(OperationId receive, OperationId send) const {
  const Operation &wanted = graph_[receive], &sent = graph_[send];
  return (wanted.peer == kAnyRank || wanted.peer == sent.rank) && (wanted.tag == kAnyTag || wanted.tag == sent.tag);
}

void GraphRun::Start::on_start() {
  --run.active_;
  for (std::uint32_t i = run.first_of_rank_[rank]; i < run.first_of_rank_[rank + 1]; ++i)
    run.ready_.push_back(run.by_rank_[i]);
  run.run_ready();
}

// Starts the ready operations, and those that become ready by this.
void GraphRun::run_ready() {
  for (std::size_t i = 0; i < ready_.size(); ++i) start(ready_[i]);
  ready_.clear();
  if (active_ == 0) --unfinished_;
}

void GraphRun::start(OperationId id) {
  switch (graph_[id].kind) {
    case Kind::kSend:
      return start_send(id);
    case Kind::kReceive:
      return start_receive(id);
    case Kind::kCompute:
      return start_compute(id);
  }
}

void GraphRun::release(OperationId id, bool by_end) {
  for (const MessageGraph::Successor& successor : graph_.successors(id)) {
    if ((successor.needs_end != 0) == by_end && --waits_[successor.id] == 0) ready_.push_back(successor.id);
  }
}

void GraphRun::end(OperationId id) {
  finish_ = ended_[id] = engine_.now();
  ++ended_count_;
  release(id, true);
}

void GraphRun::start_send(OperationId id) {
  started_[id] = engine_.now();
  release(id, false);
  if (is_local(id)) {
    if (is_eager(id)) end(id);
    return arrive(id);
  }
  if (!is_eager(id)) {
    routes_[id]->post({.send = id, .length = kControlBytes, .role = Role::kRequest, .is_arrival = true});
    return;
  }
  post_data(id, Role::kEager);
  if (params_.sends_are_buffered) end(id);
}

void GraphRun::post_data(OperationId send, Role role) {
  End& end = *routes_[send];
  const bool is_written = params_.operation == SendBy::kWrite;
  const std::uint64_t most =
      std::min(end.endpoint.profile().max_message_bytes, end.peer->endpoint.profile().max_message_bytes);
  std::uint64_t left = graph_[send].amount;
  do {
    const std::uint64_t length = std::min(left, most);
    left -= length;
    end.post({send, static_cast<std::uint32_t>(length), role, is_written, left == 0, !is_written && left == 0});
  } while (left > 0);
  if (is_written) end.post({.send = send, .role = role, .is_arrival = true});
}

void GraphRun::start_receive(OperationId id) {
  started_[id] = engine_.now();
  release(id, false);
  if (slots_[id] == kNone) return;  // no send matches
  Mailbox& mailbox = mailboxes_[slots_[id]];
  const OperationId send = take_first(mailbox.unexpected, [&](OperationId one) { return fits(id, one); });
  send == kNoOperation ? append(mailbox.posted, id) : match(id, send);
}

// The eager message, or the request of a rendezvous, has arrived.
void GraphRun::arrive(OperationId send) {
  Mailbox& mailbox = mailboxes_[slots_[send]];
  const OperationId receive = take_first(mailbox.posted, [&](OperationId one) { return fits(one, send); });
  receive == kNoOperation ? append(mailbox.unexpected, send) : match(receive, send);
}

void GraphRun::match(OperationId receive, OperationId send) {
  partners_[send] = receive;
  partners_[receive] = send;
  ++matched_;
  matched_bytes_ += graph_[send].amount;
  if (!is_eager(send) && !is_local(send)) {
    routes_[send]->peer->post({.send = send, .length = kControlBytes, .role = Role::kClearance, .is_arrival = true});
    return;
  }
  end(receive);
  if (!is_eager(send)) end(send);
}

void GraphRun::on_arrival(const Item& item) {
  switch (item.role) {
    case Role::kEager:
    case Role::kRequest:
      return arrive(item.send);
    case Role::kClearance:
      return post_data(item.send, Role::kData);
    case Role::kData:
      return end(partners_[item.send]);
  }
}

void GraphRun::start_compute(OperationId id) {
  if (slots_[id] == kNone) {  // zero-time
    started_[id] = engine_.now();
    release(id, false);
    return end(id);
  }
  Processor& processor = processors_[slots_[id]];
  processor.running == kNoOperation ? begin(processor, id) : append(processor.waiting, id);
}

void GraphRun::begin(Processor& processor, OperationId id) {
  processor.running = id;
  ++active_;
  started_[id] = engine_.now();
  processor.timer.schedule_after(Duration(static_cast<std::int64_t>(graph_[id].amount)));
  release(id, false);
}

void GraphRun::Processor::on_computed() {
  --run.active_;
  const OperationId done = running;
  running = kNoOperation;
  const OperationId next = run.take_first(waiting, [](OperationId) { return true; });
  run.end(done);
  if (next != kNoOperation) run.begin(*this, next);
  run.run_ready();
}

void GraphRun::End::post(const Item& item) {
  if (has_failed) return;
  items.push_back(item);
  ++run.active_;
  announce();
}

void GraphRun::End::announce() {
  const std::uint32_t depth = std::min(kDepth, endpoint.profile().max_qp_wr);
  if (announced == items.size() || announced - completed >= depth) return;
  ++announced;
  endpoint.post_source(own.number, 1);
}

// Removes items that are both completed and received.
void GraphRun::End::retire() {
  while (completed > 0 && (received > 0 || is_peer_gone || items.front().is_written)) {
    items.drop_front();
    --announced;
    --taken;
    --completed;
    if (received > 0) --received;
    --run.active_;
  }
}

void GraphRun::End::fail() {
  has_failed = true;
  run.active_ -= items.size();
  while (!items.empty()) items.drop_front();
}

hca::SourceWork GraphRun::End::next_work(std::uint32_t) {
  if (has_failed) return {SendBy::kSend, 0};
  const Item& item = items[taken++];
  return {item.is_written ? SendBy::kWrite : SendBy::kSend, item.length};
}

void GraphRun::End::on_completed(std::uint32_t, WcStatus status) {
  if (has_failed) return;
  const Item& item = items[completed];
  const OperationId send = item.send;
  if (status != WcStatus::kSuccess) {
    run.fail(send, rank, status);
    fail();
    return run.run_ready();
  }
  const bool ends_send = item.is_last_of_data && (item.role == Role::kData || !run.params_.sends_are_buffered);
  ++completed;
  announce();
  retire();
  if (ends_send) run.end(send);
  run.run_ready();
}

// The peer's next item that was sent by SEND has arrived.
void GraphRun::End::on_received(std::uint32_t, std::uint32_t) {
  End& sender = *peer;
  if (sender.has_failed || sender.is_peer_gone) return;
  while (sender.items[sender.received].is_written) ++sender.received;
  const Item item = sender.items[sender.received++];
  sender.retire();
  if (item.is_arrival) run.on_arrival(item);
  run.run_ready();
}

void GraphRun::End::on_adapter_failed(std::uint32_t) {
  const bool was_active = run.active_ > 0;
  if (was_active) run.fail(kNoOperation, rank, WcStatus::kFatalError);
  if (!has_failed) fail();
  peer->is_peer_gone = true;
  if (!peer->has_failed) peer->retire();
  if (was_active) run.run_ready();
}

void GraphRun::fail(OperationId send, std::uint32_t rank, WcStatus status) {
  if (!failure_) failure_ = Failure{send, rank, status};
}

std::vector<std::string> GraphRun::waiting(std::size_t most) const {
  std::vector<std::string> lines;
  std::uint64_t count = 0;
  const auto add = [&](OperationId id, const char* what) {
    if (count++ < most) lines.push_back(text_of(graph_[id]) + ", " + what);
  };
  for (OperationId id = 0; id < graph_.size(); ++id) {
    if (ended_[id] != kNever || started_[id] == kNever) continue;
    const Kind kind = graph_[id].kind;
    if (kind == Kind::kCompute) {
      add(id, "is running");
    } else if (partners_[id] != kNoOperation) {
      add(id, "is matched, and its data are on their way");
    } else if (kind == Kind::kReceive) {
      add(id, "waits for a message");
    } else {
      add(id, is_eager(id) ? "is not acknowledged" : "waits for a receive");
    }
  }
  const std::uint64_t started = count;
  for (const Mailbox& mailbox : mailboxes_) {
    for (OperationId id = mailbox.unexpected.first; id != kNoOperation; id = next_[id]) {
      if (ended_[id] != kNever) add(id, "has arrived, and no receive takes it");
    }
  }
  if (started == 0) {
    for (OperationId id = 0; id < graph_.size(); ++id) {
      if (ended_[id] == kNever) add(id, "waits for others of its rank");
    }
  }
  if (count > lines.size()) lines.push_back("and " + std::to_string(count - lines.size()) + " more");
  return lines;
}

std::uint64_t GraphRun::unexpected_left() const {
  std::uint64_t count = 0;
  for (const Mailbox& mailbox : mailboxes_) {
    for (OperationId id = mailbox.unexpected.first; id != kNoOperation; id = next_[id]) ++count;
  }
  return count;
}

}  // namespace verbatim::workload
