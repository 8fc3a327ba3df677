// Checks of a profile's congestion control that involve several values.
#include <algorithm>
#include <vector>

#include "sim/config/profile_files.h"
#include "sim/core/words.h"
#include "sim/hca/congestion/controllers.h"

namespace verbatim::config {

namespace {

constexpr std::int64_t kMbps = 1'000'000;

std::string rate_text(std::int64_t bits_per_second) { return format_quantity(bits_per_second, Dimension::kRate); }
std::string period_text(std::int64_t ps) { return format_quantity(ps, Dimension::kDuration); }
std::string number_text(std::int64_t number) { return std::to_string(number); }

// A parameter that controllers have a default for, or do not use.
struct ReactionParameter {
  const char* key;
  std::int64_t (*value)(const hca::ReactionPoint&);  // negative: not set
  std::string (*text)(std::int64_t);
};

template <auto Member>
constexpr ReactionParameter parameter_of(const char* key, std::string (*text)(std::int64_t)) {
  return {key, [](const hca::ReactionPoint& point) -> std::int64_t { return point.*Member; }, text};
}
template <auto Member>
constexpr ReactionParameter period_of(const char* key) {
  return {key, [](const hca::ReactionPoint& point) -> std::int64_t { return to_ps(point.*Member); }, &period_text};
}

using ReactionPoint = hca::ReactionPoint;
// Shipped profiles have base_round_trip for hpcc and swift, too: it is not listed.
constexpr ReactionParameter kReactionParameters[] = {
    period_of<&ReactionPoint::rpg_time_reset>("rpg_time_reset"),
    parameter_of<&ReactionPoint::rpg_byte_reset>("rpg_byte_reset", &number_text),
    parameter_of<&ReactionPoint::rpg_threshold>("rpg_threshold", &number_text),
    parameter_of<&ReactionPoint::rpg_ai_rate>("rpg_ai_rate", &rate_text),
    parameter_of<&ReactionPoint::rpg_hai_rate>("rpg_hai_rate", &rate_text),
    parameter_of<&ReactionPoint::rpg_max_rate>("rpg_max_rate", &rate_text),
    parameter_of<&ReactionPoint::rpg_min_rate>("rpg_min_rate", &rate_text),
    parameter_of<&ReactionPoint::rpg_gd>("rpg_gd", &number_text),
    parameter_of<&ReactionPoint::rpg_min_dec_fac>("rpg_min_dec_fac", &number_text),
    parameter_of<&ReactionPoint::dce_tcp_g>("dce_tcp_g", &number_text),
    period_of<&ReactionPoint::dce_tcp_rtt>("dce_tcp_rtt"),
    parameter_of<&ReactionPoint::initial_alpha_value>("initial_alpha_value", &number_text),
    parameter_of<&ReactionPoint::rate_to_set_on_first_cnp>("rate_to_set_on_first_cnp", &rate_text),
    period_of<&ReactionPoint::rate_reduce_monitor_period>("rate_reduce_monitor_period"),
};

std::string listed_with_and(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

// Name of the controller; "": none is given.
std::string controller_of(const Json& profile) {
  if (!profile.is_object() || !profile.contains("congestion_control")) return "";
  const Json& control = profile["congestion_control"];
  if (!control.is_object() || !control.contains("controller")) return "";
  const Json& name = control["controller"];
  const Json& value = name.is_object() && name.contains("value") ? name["value"] : name;
  return value.is_string() ? value.get<std::string>() : "";
}

// Warns about a profile of dcqcn-nv, as shipped ones are, in which only the controller has been changed.
void warn_of_other_parameters(const hca::ControllerRow& row, const ReactionPoint& given, const std::string& file,
                              Diagnostics& diagnostics) {
  constexpr const char* kOther = "dcqcn-nv";
  if (row.name == kOther) return;
  const hca::Rate line = hca::Rate::of_mbps(100'000);
  const ReactionPoint own = row.defaults(line), other = hca::find_controller(kOther)->defaults(line);
  std::vector<std::string> unused, left, own_values;
  for (const ReactionParameter& one : kReactionParameters) {
    const std::int64_t value = one.value(given), default_value = one.value(own);
    if (value < 0) continue;
    if (default_value < 0) {
      unused.push_back(one.key);
    } else if (value == one.value(other) && value != default_value) {
      left.push_back(join(one.key, " ", one.text(value)));
      own_values.push_back(one.text(default_value));
    }
  }
  const std::string name(row.name), pointer = "/congestion_control/controller";
  if (!left.empty()) {
    diagnostics.warn({file, pointer,
                      join(listed_with_and(left), left.size() == 1 ? " is that of " : " are those of ", kOther, "; ", name, " has ",
                           listed_with_and(own_values), " at 100 Gbps"),
                      "leave out what is not meant for " + name});
  }
  if (!unused.empty()) diagnostics.warn({file, pointer, join(name, " does not use ", listed_with_and(unused)), "leave them out"});
}

}  // namespace

void leave_out_other_controller(Json& profile, const Json& change) {
  const std::string given = controller_of(profile), asked = controller_of(change);
  if (given.empty() || asked.empty() || given == asked) return;
  Json& control = profile["congestion_control"];
  for (const ReactionParameter& one : kReactionParameters) control.erase(one.key);
  for (const char* const key : {"clamp_tgt_rate", "clamp_tgt_rate_after_time_inc"}) control.erase(key);
}

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
  warn_of_other_parameters(*row, point, file, diagnostics);
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
