#include "sim/fabric/channel.h"

#include <utility>

#include "sim/core/check.h"

namespace verbatim::fabric {

Channel::Channel(SharedLinkParams params, ComponentId far_end)
    : line_(params->byte_time), params_(std::move(params)), far_end_(far_end) {
  CHECK(params_->propagation >= Duration(0) && params_->credit_update_interval >= Duration(0));
}

TransmitTimes Channel::transmit(Instant now, std::uint32_t wire_bytes, Trail& trail, Duration delay) {
  const LinkParams& link = *params_;
  line_.begin(now);
  const Instant head = line_.after(link.bytes_before + link.header_bytes);
  const Instant tail = line_.after(link.bytes_before + wire_bytes);
  line_.pass(link.bytes_before + wire_bytes + link.bytes_after);
  if (trail) [[unlikely]]
    add_to(trail, head, delay);
  const Duration way = link.propagation + delay;
  return {tail, {head + way, tail + way}};
}

void Channel::add_to(Trail& trail, Instant head, Duration delay) const {
  const Instant from_cable = head + params_->propagation - params_->transceivers - params_->fec;
  trail.add(head, {far_end_, "link: header", TrailKind::kBytes, params_->bytes_before + params_->header_bytes});
  trail.add(from_cable, {far_end_, "link: cable", TrailKind::kDelay});
  trail.add(from_cable + params_->transceivers, {far_end_, "link: transceivers", TrailKind::kDelay});
  trail.add(head + params_->propagation, {far_end_, "link: error correction block", TrailKind::kDelay});
  trail.add(head + params_->propagation + delay, {far_end_, "link: scripted delay", TrailKind::kDelay});
}

}  // namespace verbatim::fabric
