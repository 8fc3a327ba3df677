#include "sim/hca/datapath/processing_units.h"

#include <utility>

#include "sim/hca/adapter_base.h"
#include "sim/hca/datapath/work_fetcher.h"

namespace verbatim::hca {

ProcessingUnits::ProcessingUnits(AdapterBase& adapter, WorkFetcher& fetcher)
    : adapter_(adapter),
      fetcher_(fetcher),
      idle_(adapter.profile.processing_units),
      arriving_(DelayLine<FetchedWork>::of<&ProcessingUnits::on_arrived>(adapter.engine, adapter.id,
                                                                         EventClass::kStage, this)),
      busy_(DelayLine<std::uint32_t>::of<&ProcessingUnits::on_free>(adapter.engine, adapter.id,
                                                                    EventClass::kStage, this)),
      decoding_(DelayLine<FetchedWork>::of<&ProcessingUnits::on_done>(adapter.engine, adapter.id,
                                                                      EventClass::kStage, this)) {}

void ProcessingUnits::on_arrived(FetchedWork work) {
  const std::uint32_t qpn = work.qpn;
  if (lanes_.size() <= qpn) lanes_.resize(qpn + 1);
  Lane& lane = lanes_[qpn];
  lane.waiting.push_back(std::move(work));
  if (lane.is_served || lane.waiting.size() > 1) return;
  ready_.push_back(qpn);
  serve();
}

void ProcessingUnits::on_done(FetchedWork work) {
  fetcher_.on_decoded(std::move(work));
  if (adapter_.profile.wqe_decode.capacity > 0) serve();
}

bool ProcessingUnits::has_room() const {
  const std::uint32_t capacity = adapter_.profile.wqe_decode.capacity;
  return capacity == 0 || decoding_.size() < capacity;
}

void ProcessingUnits::on_free(std::uint32_t qpn) {
  ++idle_;
  Lane& lane = lanes_[qpn];
  lane.is_served = false;
  if (!lane.waiting.empty()) ready_.push_back(qpn);
  serve();
}

void ProcessingUnits::serve() {
  const Stage& stage = adapter_.profile.wqe_decode;
  while (idle_ > 0 && !ready_.empty() && has_room()) {
    const std::uint32_t qpn = ready_.pop_front();
    Lane& lane = lanes_[qpn];
    lane.is_served = true;
    --idle_;
    FetchedWork work = lane.waiting.pop_front();
    const std::int64_t edge = adapter_.clock.next_edge_number(adapter_.engine.now());
    const Instant done = adapter_.clock.edge(edge + stage.latency_cycles);
    if (Trail& trail = work.work.trail) [[unlikely]] {
      const Instant first = adapter_.clock.edge(adapter_.clock.next_edge_number(trail.end()));
      trail.add(first, {adapter_.id, "WQE decode", TrailKind::kEdge});
      trail.add(adapter_.clock.edge(edge), {adapter_.id, "WQE decode: processing units", TrailKind::kBusy});
      trail.add(done, {adapter_.id, "WQE decode", TrailKind::kCycles, stage.latency_cycles});
    }
    busy_.push(adapter_.clock.edge(edge + stage.interval_cycles), qpn);
    decoding_.push(done, std::move(work));
  }
}

}  // namespace verbatim::hca
