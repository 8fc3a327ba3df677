// The controllers that a profile can name. To add one, derive a class from `RateController` and add a row.
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
  ReactionPoint (*defaults)(Rate line) = nullptr;  // default parameters
  std::unique_ptr<RateController> (*make)(const ReactionPoint& parameters, Rate line) = nullptr;
};

// All rows. The first is "none", without a controller.
std::span<const ControllerRow> controller_rows();
// The row of a controller by name; null: none.
const ControllerRow* find_controller(std::string_view name);

// `given`, with `defaults` for parameters that are not set.
ReactionPoint complete(const ReactionPoint& given, const ReactionPoint& defaults);

// Whether the profile's controller uses telemetry that switches write into packets.
bool wants_telemetry(const CongestionControl& profile);

// Creates the controller of a queue pair; null for "none". `line`: rate of the port. The profile has been
// checked.
std::unique_ptr<RateController> make_controller(const CongestionControl& profile, Rate line);

}  // namespace verbatim::hca
