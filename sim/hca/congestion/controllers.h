// The controllers that a profile can name. One more: a class behind `RateController`, and a row here.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "sim/hca/congestion/parameters.h"
#include "sim/hca/congestion/rate_controller.h"

namespace verbatim::hca {

struct ControllerRow {
  std::string_view name;
  std::uint8_t signals = 0;  // `Signal`s that it needs
  ReactionPoint (*defaults)(Rate line) = nullptr;  // values of parameters that the profile leaves out
  std::unique_ptr<RateController> (*make)(const ReactionPoint& parameters, Rate line) = nullptr;
};

// The first is "none", which makes no controller.
std::span<const ControllerRow> controller_rows();
// Null: no controller has this name.
const ControllerRow* find_controller(std::string_view name);

// Parameters that are set in `given`, and those of `defaults` in the place of the others.
ReactionPoint complete(const ReactionPoint& given, const ReactionPoint& defaults);

// Whether the profile's controller reads what switches write into packets.
bool wants_telemetry(const CongestionControl& profile);

// The controller of a queue pair on a line of this rate; null for "none". The profile has been checked.
std::unique_ptr<RateController> make_controller(const CongestionControl& profile, Rate line);

}  // namespace verbatim::hca
