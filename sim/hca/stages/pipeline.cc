#include "sim/hca/stages/pipeline.h"

namespace verbatim::hca {

std::int64_t Pipeline::wait_for_room(std::int64_t edge) {
  std::int64_t& room_at = room_at_[oldest_];
  oldest_ = oldest_ + 1 == stage_.capacity ? 0 : oldest_ + 1;
  edge = std::max(edge, room_at);
  room_at = edge + stage_.latency_cycles;
  return edge;
}

}  // namespace verbatim::hca
