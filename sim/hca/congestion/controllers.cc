#include "sim/hca/congestion/controllers.h"

#include <algorithm>

#include "sim/core/check.h"
#include "sim/hca/congestion/dcqcn_ns3.h"
#include "sim/hca/congestion/dcqcn_nv.h"
#include "sim/hca/congestion/dcqcn_paper.h"
#include "sim/hca/congestion/hpcc.h"
#include "sim/hca/congestion/swift.h"
#include "sim/hca/congestion/timely.h"

namespace verbatim::hca {

namespace {

template <class Controller>
std::unique_ptr<RateController> make(const ReactionPoint& parameters, Rate line) {
  return std::make_unique<Controller>(parameters, line);
}

constexpr ControllerRow kRows[] = {
    {"none"},
    {"dcqcn-nv", kNotifications | kSentBytes, &DcqcnNv::defaults, &make<DcqcnNv>},
    {"dcqcn-paper", kNotifications | kSentBytes, &DcqcnPaper::defaults, &make<DcqcnPaper>},
    {"dcqcn-ns3", kNotifications, &DcqcnNs3::defaults, &make<DcqcnNs3>},
    {"timely", kRoundTrips | kAcknowledgements, &Timely::defaults, &make<Timely>},
    {"swift", kRoundTrips | kAcknowledgements | kHops, &Swift::defaults, &make<Swift>},
    {"hpcc", kRoundTrips | kAcknowledgements | kTelemetry, &Hpcc::defaults, &make<Hpcc>},
};

}  // namespace

std::span<const ControllerRow> controller_rows() { return kRows; }

const ControllerRow* find_controller(std::string_view name) {
  const auto found = std::ranges::find(kRows, name, &ControllerRow::name);
  return found == std::end(kRows) ? nullptr : found;
}

ReactionPoint complete(const ReactionPoint& given, const ReactionPoint& defaults) {
  ReactionPoint all = given;
  const auto fill = [&](auto member) {
    using Value = std::remove_reference_t<decltype(all.*member)>;
    if (all.*member < Value{0}) all.*member = defaults.*member;
  };
  using P = ReactionPoint;
  for (const auto member : {&P::rpg_time_reset, &P::dce_tcp_rtt, &P::rate_reduce_monitor_period, &P::base_round_trip})
    fill(member);
  for (const auto member :
       {&P::rpg_byte_reset, &P::rpg_threshold, &P::rpg_ai_rate, &P::rpg_hai_rate, &P::rpg_max_rate, &P::rpg_min_rate, &P::rpg_gd,
        &P::rpg_min_dec_fac, &P::dce_tcp_g, &P::initial_alpha_value, &P::rate_to_set_on_first_cnp}) {
    fill(member);
  }
  return all;
}

bool wants_telemetry(const CongestionControl& profile) {
  const ControllerRow* const row = find_controller(profile.controller);
  return row != nullptr && (row->signals & (kHops | kTelemetry)) != 0;
}

std::unique_ptr<RateController> make_controller(const CongestionControl& profile, Rate line) {
  const ControllerRow* const row = find_controller(profile.controller);
  CHECK(row != nullptr);
  if (row->make == nullptr) return nullptr;
  return row->make(complete(profile.reaction_point, row->defaults(line)), line);
}

}  // namespace verbatim::hca
