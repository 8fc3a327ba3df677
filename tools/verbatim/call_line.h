// Calls of verbs in the form of trace lines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/core/words.h"
#include "sim/supervisor/spec/call_place.h"

namespace verbatim::cli {

// "" if the call is not a verb.
inline std::string_view name_of_call(supervisor::CallPlace::Kind kind) {
  using Kind = supervisor::CallPlace::Kind;
  return kind == Kind::kLate ? "" : kind == Kind::kSend ? "post-send" : kind == Kind::kArm ? "arm" : "post-receive";
}

// The source location without blanks.
inline std::string place_in_line(std::string place) {
  for (std::size_t at; (at = place.find(", from ")) != place.npos;) place.replace(at, 7, "<");
  std::ranges::replace(place, ' ', '_');
  return place.empty() ? "-" : place;
}

inline std::string call_values(std::string_view name, std::uint64_t number, std::uint64_t wr_id, const std::string& place) {
  return join("number=", number, name == "arm" ? std::string() : join(" wr_id=", wr_id), " place=", place);
}

}  // namespace verbatim::cli
