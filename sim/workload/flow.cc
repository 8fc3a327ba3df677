#include "sim/workload/flow.h"

#include <algorithm>

namespace verbatim::workload {

using ib::WcStatus;

// The start is an event of the adapter: a doorbell leaves then, and whoever looks ahead knows how long its effects take.
Flow::Flow(Engine& engine, hca::Endpoint& from, hca::Endpoint& to, const FlowPaths& paths, const FlowParams& params,
           std::size_t& unfinished)
    : engine_(engine),
      from_(from),
      params_(params),
      unfinished_(unfinished),
      queue_pairs_(params.queue_pairs),
      unposted_(params.bytes),
      start_(Timer::of<&Flow::on_start>(engine, from.component(), EventClass::kStage, this)) {
  CHECK(params.bytes > 0 && params.message_bytes > 0 && params.queue_pairs > 0);
  const std::uint32_t depth = std::min(kDepth, from.profile().max_qp_wr);
  for (QueuePair& qp : queue_pairs_) {
    qp.end = from.add_source(*this, depth);
    const hca::SourceEnd peer = to.add_source(receiver_, 1);
    hca::SourcePath there = paths.there, back = paths.back;
    there.peer = peer;
    back.peer = qp.end;
    from.connect_source(qp.end.number, there);
    to.connect_source(peer.number, back);
  }
  ++unfinished_;
  start_.schedule_at(params.start);
}

void Flow::on_start() {
  if (status_ != WcStatus::kSuccess) return;
  const std::uint32_t depth = std::min(kDepth, from_.profile().max_qp_wr);
  for (std::size_t i = 0; i < queue_pairs_.size(); ++i) {
    const std::uint64_t others = queue_pairs_.size() - i;
    post(queue_pairs_[i], static_cast<std::uint32_t>(std::min<std::uint64_t>((messages_left() + others - 1) / others, depth)));
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
  --unfinished_;
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
  if (status_ == WcStatus::kSuccess && unposted_ > 0) post(qp, 1);
  note_end();
}

void Flow::on_adapter_failed(std::uint32_t) {
  if (is_done()) return;
  status_ = WcStatus::kFatalError;
  outstanding_ = 0;
  note_end();
}

}  // namespace verbatim::workload
