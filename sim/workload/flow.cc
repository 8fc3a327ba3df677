#include "sim/workload/flow.h"

#include <algorithm>

namespace verbatim::workload {

using ib::WcStatus;

// The start is an event of the adapter: it sends a doorbell, and look-ahead code knows the minimum time until
// a doorbell has effects.
Flow::Flow(Engine& engine, hca::Endpoint& from, hca::Endpoint& to, const FlowPaths& paths,
           const FlowParams& params, FlowAccount& account)
    : engine_(engine),
      from_(from),
      params_(params),
      account_(account),
      receiver_(params_),
      queue_pairs_(params.queue_pairs),
      unposted_(params.bytes == 0 ? ~std::uint64_t{0} : params.bytes),
      start_time_(params.start),
      start_(Timer::of<&Flow::on_start>(engine, from.component(), EventClass::kStage, this)),
      turn_(Timer::of<&Flow::on_turn>(engine, from.component(), EventClass::kStage, this)) {
  CHECK(params.message_bytes > 0 && params.queue_pairs > 0 && params.depth > 0);
  CHECK(params.off == Duration(0) || params.on > Duration(0));
  CHECK(params.on_received == nullptr || params.operation == hca::SourceWork::Operation::kSend);
  for (QueuePair& qp : queue_pairs_) {
    qp.end = from.add_source(*this, depth());
    const hca::SourceEnd peer = to.add_source(receiver_, 1);
    qp.peer = peer.number;
    hca::SourcePath there = paths.there, back = paths.back;
    there.peer = peer;
    back.peer = qp.end;
    from.connect_source(qp.end.number, there);
    to.connect_source(peer.number, back);
  }
  if (!params.is_background) ++account_.unfinished;
  if (params.start != kNever) start_.schedule_at(params.start);
}

// At most the number of messages, so that the frequent flows of one message take little memory.
std::uint32_t Flow::depth() const {
  const std::uint64_t messages = messages_in(is_endless() ? ~std::uint64_t{0} : params_.bytes);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>({params_.depth, from_.profile().max_qp_wr, messages}));
}

std::vector<Flow::Ends> Flow::ends() const {
  std::vector<Ends> ends;
  for (const QueuePair& qp : queue_pairs_) ends.push_back({qp.end.number, qp.peer});
  return ends;
}

void Flow::start_now() {
  if (start_time_ != kNever) return;
  start_time_ = engine_.now() + params_.delay;
  start_.schedule_at(start_time_);
}

void Flow::on_start() {
  if (status_ != WcStatus::kSuccess) return;
  if (account_.listener != nullptr) account_.listener->on_flow_started(*this);
  if (params_.off > Duration(0)) turn_.schedule_at(engine_.now() + params_.on);
  post_all();
}

// Switches between posting and pausing.
void Flow::on_turn() {
  if (status_ != WcStatus::kSuccess || is_done()) return;
  is_paused_ = !is_paused_;
  turn_.schedule_at(engine_.now() + (is_paused_ ? params_.off : params_.on));
  if (!is_paused_) post_all();
}

// Posts as many requests as the queue pairs have room for, shared evenly.
void Flow::post_all() {
  for (std::size_t i = 0; i < queue_pairs_.size(); ++i) {
    QueuePair& qp = queue_pairs_[i];
    const std::uint64_t others = queue_pairs_.size() - i, left = messages_in(unposted_);
    post(qp, static_cast<std::uint32_t>(
                 std::min<std::uint64_t>(left / others + (left % others != 0), depth() - qp.lengths.size())));
  }
}

void Flow::post(QueuePair& qp, std::uint32_t count) {
  if (count == 0) return;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(unposted_, params_.message_bytes));
    qp.lengths.push_back(length);
    unposted_ -= length;
  }
  outstanding_ += count;
  from_.post_source(qp.end.number, count);
}

Flow::QueuePair& Flow::queue_pair(std::uint32_t qpn) {
  const auto found = std::ranges::find(queue_pairs_, qpn, [](const QueuePair& qp) { return qp.end.number; });
  CHECK(found != queue_pairs_.end());
  return *found;
}

void Flow::note_end() {
  if (!is_done() || finish_ != kNever) return;
  finish_ = engine_.now();
  if (account_.listener != nullptr) account_.listener->on_flow_ended(*this);
  if (!params_.is_background) --account_.unfinished;
  if (params_.on_sent != nullptr && status_ == WcStatus::kSuccess) params_.on_sent->fire();
}

hca::SourceWork Flow::next_work(std::uint32_t qpn) {
  QueuePair& qp = queue_pair(qpn);
  return {params_.operation, qp.lengths[qp.made++]};
}

void Flow::on_completed(std::uint32_t qpn, WcStatus status) {
  QueuePair& qp = queue_pair(qpn);
  const std::uint32_t length = qp.lengths.pop_front();
  --qp.made;
  --outstanding_;
  if (status == WcStatus::kSuccess) {
    acknowledged_ += length;
  } else if (status_ == WcStatus::kSuccess) {
    status_ = status;
  }
  if (status_ == WcStatus::kSuccess && unposted_ > 0 && !is_paused_) post(qp, 1);
  note_end();
}

void Flow::on_adapter_failed(std::uint32_t) {
  if (is_done()) return;
  status_ = WcStatus::kFatalError;
  outstanding_ = 0;
  note_end();
}

}  // namespace verbatim::workload
