#include "sim/fabric/channel.h"

#include "sim/core/check.h"

namespace verbatim::fabric {

Channel::Channel(const LinkParams& params, ComponentId far_end) : params_(params), far_end_(far_end), line_(params.byte_time) {
  CHECK(params.propagation >= Duration(0) && params.credit_update_interval >= Duration(0));
}

PassageTimes Channel::transmit(Instant now, std::uint32_t wire_bytes, Trail& trail, Duration delay) {
  line_.begin(now);
  const Instant head = line_.after(params_.bytes_before + params_.header_bytes);
  const Instant tail = line_.after(params_.bytes_before + wire_bytes);
  line_.pass(params_.bytes_before + wire_bytes + params_.bytes_after);
  if (trail) [[unlikely]]
    add_to(trail, head, delay);
  const Duration way = params_.propagation + delay;
  return {tail, {head + way, tail + way}};
}

void Channel::add_to(Trail& trail, Instant head, Duration delay) const {
  const Instant from_cable = head + params_.propagation - params_.transceivers - params_.fec;
  trail.add(head, {far_end_, "link: header", TrailKind::kBytes, params_.bytes_before + params_.header_bytes});
  trail.add(from_cable, {far_end_, "link: cable", TrailKind::kDelay});
  trail.add(from_cable + params_.transceivers, {far_end_, "link: transceivers", TrailKind::kDelay});
  trail.add(head + params_.propagation, {far_end_, "link: error correction block", TrailKind::kDelay});
  trail.add(head + params_.propagation + delay, {far_end_, "link: scripted delay", TrailKind::kDelay});
}

}  // namespace verbatim::fabric
