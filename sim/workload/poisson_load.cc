#include "sim/workload/poisson_load.h"

#include <algorithm>

namespace verbatim::workload {

using ib::WcStatus;

PoissonLoad::PoissonLoad(Engine& engine, const LoadPlan& plan, const FlowKind& kind,
                         std::vector<hca::Endpoint*> places, Paths paths, const std::vector<Duration>& phases)
    : engine_(engine), plan_(plan), kind_(kind), places_(std::move(places)), paths_(std::move(paths)) {
  for (std::uint32_t member = 0; member < plan.members.size(); ++member) senders_.emplace_back(*this, member, phases[member]);
}

PoissonLoad::Sender::Sender(PoissonLoad& of, std::uint32_t number, Duration phase)
    : load(of),
      member(number),
      start(of.plan_.start + phase),
      clock(of.plan_.arrivals(), of.plan_.sizes, number),
      timer(Timer::of<&Sender::on_arrival>(of.engine_, of.places_[of.plan_.members[number]]->component(),
                                           EventClass::kStage, this)) {
  await_next();
}

void PoissonLoad::Sender::await_next() { timer.schedule_at(instant_from_ps((start + clock.next_start()).count())); }

void PoissonLoad::Sender::on_arrival() {
  const PoissonFlow flow = clock.take();
  const std::uint32_t from = load.plan_.members[flow.from], to = load.plan_.members[flow.to];
  Connection& connection = load.connection(from, to);
  connection.waiting.push_back({load.arrivals_.size(), flow.bytes});
  FlowPlan plan{.from = from, .to = to, .kind = load.plan_.kind, .bytes = flow.bytes};
  plan.start = start + flow.start;
  load.arrivals_.push_back({.plan = plan});
  connection.post_all();
  await_next();
}

// An idle connection, otherwise a new one, otherwise the one with the fewest flows.
PoissonLoad::Connection& PoissonLoad::connection(std::uint32_t from, std::uint32_t to) {
  std::vector<Connection*>& all = by_pair_[std::uint64_t{from} << 32 | to];
  std::erase_if(all, [](const Connection* one) { return one->has_failed; });
  for (Connection* const one : all)
    if (one->is_idle()) return *one;
  if (all.size() == kMostConnections)
    return **std::ranges::min_element(all, {}, [](const Connection* one) { return one->waiting.size(); });
  const bool is_read = kind_.operation == hca::SourceWork::Operation::kRead;
  const std::uint32_t here = is_read ? to : from, there = is_read ? from : to;
  hca::Endpoint &poster = *places_[here], &peer = *places_[there];
  Connection& made = connections_.emplace_back(*this, poster);
  FlowPaths paths = paths_(here, there);
  made.end = poster.add_source(made, made.depth());
  paths.there.peer = peer.add_source(peer_, 1);
  paths.back.peer = made.end;
  poster.connect_source(made.end.number, paths.there);
  peer.connect_source(paths.there.peer.number, paths.back);
  all.push_back(&made);
  return made;
}

void PoissonLoad::Connection::post_all() {
  std::uint32_t count = 0;
  while (!waiting.empty() && posted.size() < depth()) {
    Waiting& first = waiting.front();
    const auto bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(first.unposted, load.kind_.message_bytes));
    posted.push_back({first.flow, bytes});
    first.unposted -= bytes;
    if (first.unposted == 0) waiting.drop_front();
    ++count;
  }
  if (count > 0) poster.post_source(end.number, count);
}

hca::SourceWork PoissonLoad::Connection::next_work(std::uint32_t) {
  return {load.kind_.operation, posted[made++].bytes};
}

void PoissonLoad::Connection::on_completed(std::uint32_t, WcStatus status) {
  const Message message = posted.pop_front();
  --made;
  Arrival& flow = load.arrivals_[message.flow];
  if (status != WcStatus::kSuccess || has_failed) {
    if (flow.status == WcStatus::kSuccess) {
      flow.status = status;
      flow.finish = load.engine_.now();
    }
    return fail(status);
  }
  flow.acknowledged += message.bytes;
  if (flow.acknowledged == flow.plan.bytes) flow.finish = load.engine_.now();
  post_all();
}

// Flows that wait for this connection fail; later flows get another connection.
void PoissonLoad::Connection::fail(WcStatus why) {
  has_failed = true;
  while (!waiting.empty()) {
    Arrival& flow = load.arrivals_[waiting.pop_front().flow];
    if (flow.status != WcStatus::kSuccess) continue;
    flow.status = why;
    flow.finish = load.engine_.now();
  }
}

void PoissonLoad::Connection::on_adapter_failed(std::uint32_t) {
  for (std::size_t i = 0; i < posted.size(); ++i) {
    Arrival& flow = load.arrivals_[posted[i].flow];
    flow.status = WcStatus::kFatalError;
    flow.finish = load.engine_.now();
  }
  fail(WcStatus::kFatalError);
}

}  // namespace verbatim::workload
