// Checks of a profile's congestion control that involve several values.
#include <algorithm>

#include "sim/config/profile_files.h"
#include "sim/hca/congestion/controllers.h"

namespace verbatim::config {

namespace {

constexpr std::int64_t kMbps = 1'000'000;

std::string rate_text(std::int64_t bits_per_second) { return format_quantity(bits_per_second, Dimension::kRate); }

}  // namespace

void check_congestion_control(const hca::CongestionControl& control, const std::string& file, Diagnostics& diagnostics) {
  const auto add = [&](const char* key, std::string text, std::string hint) {
    diagnostics.add(file, std::string("/congestion_control/") + key, std::move(text), std::move(hint));
  };
  using P = hca::ReactionPoint;
  const P& point = control.reaction_point;
  for (const auto& [key, member] : {std::pair("rpg_ai_rate", &P::rpg_ai_rate), std::pair("rpg_hai_rate", &P::rpg_hai_rate),
                                    std::pair("rpg_max_rate", &P::rpg_max_rate), std::pair("rpg_min_rate", &P::rpg_min_rate),
                                    std::pair("rate_to_set_on_first_cnp", &P::rate_to_set_on_first_cnp)}) {
    const std::int64_t rate = point.*member;
    if (rate < 0 || rate % kMbps == 0) continue;
    add(key, rate_text(rate) + " is not a whole number of Mbps", "adapters are set in Mbps; such as " + rate_text(rate / kMbps * kMbps + kMbps));
  }
  const hca::ControllerRow* const row = hca::find_controller(control.controller);
  if (row == nullptr || row->defaults == nullptr) return;
  // Any rate serves: none of the compared values has a default that depends on the line rate.
  const P all = hca::complete(point, row->defaults(hca::Rate::of_mbps(1'000)));
  for (const auto& [key, most] : {std::pair("rpg_max_rate", all.rpg_max_rate), std::pair("rate_to_set_on_first_cnp", all.rate_to_set_on_first_cnp)}) {
    if (most == 0 || most >= all.rpg_min_rate) continue;
    add(key, rate_text(most) + " is below rpg_min_rate, " + rate_text(all.rpg_min_rate), "0 means the rate of the line");
  }
  constexpr std::int64_t kMostOfDevice = 32767;
  if (row->name == "dcqcn-nv" && all.rpg_byte_reset > kMostOfDevice) {
    add("rpg_byte_reset", std::to_string(all.rpg_byte_reset) + " is out of range for dcqcn-nv; allowed: 0 to " + std::to_string(kMostOfDevice),
        "units of 64 bytes; 0: no byte counter");
  }
}

}  // namespace verbatim::config
