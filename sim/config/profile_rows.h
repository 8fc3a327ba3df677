// Rows shared by the tables of several profiles.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/fields.h"

namespace verbatim::config {

inline Field schema_row() {
  return {.key = "$schema", .kind = Kind::kIgnored, .doc = "the JSON Schema, for editors"};
}
inline Field source_row() {
  return {.key = "source", .kind = Kind::kIgnored, .doc = "where the values are from, for people"};
}
inline Field description_row() { return {.key = "description", .kind = Kind::kIgnored, .doc = "for people"}; }
inline Field profile_row(std::string_view value) {
  return {.key = "profile",
          .kind = Kind::kText,
          .required = true,
          .doc = "kind of the profile",
          .choices = {value}};
}

template <auto Member>
Field count(std::string_view key, std::string_view doc, std::int64_t min, std::int64_t max) {
  return bind<Member>({.key = key, .kind = Kind::kInteger, .doc = doc, .min = min, .max = max});
}
template <auto Member>
Field flag(std::string_view key, std::string_view doc) {
  return bind<Member>({.key = key, .kind = Kind::kBoolean, .doc = doc});
}
template <auto Member>
Field choice_of(std::string_view key, std::string_view doc, std::vector<std::int64_t> numbers) {
  return bind<Member>({.key = key, .kind = Kind::kInteger, .doc = doc, .numbers = std::move(numbers)});
}
template <auto Member>
Field duration(std::string_view key, std::string_view doc, std::int64_t max_ps = kSecondPs) {
  return bind<Member>({.key = key, .kind = Kind::kDuration, .doc = doc, .min = 0, .max = max_ps});
}
template <auto Member>
Field size(std::string_view key, std::string_view doc, std::int64_t min, std::int64_t max) {
  return bind<Member>({.key = key, .kind = Kind::kSize, .doc = doc, .min = min, .max = max});
}
template <auto Member>
Field clock(std::string_view key, std::string_view doc) {
  return bind<Member>(
      {.key = key, .kind = Kind::kFrequency, .doc = doc, .min = 1'000'000, .max = 10'000'000'000});
}

// The largest buffer of a lane. Links with credits have a lower limit (`resolve_congestion.cc`).
inline constexpr std::int64_t kMostBufferBytes = 1 << 26;

template <auto Member>
Field fastest_link() {
  return bind<Member>({.key = "link_rate_max",
                       .kind = Kind::kLinkRate,
                       .doc = "its fastest link, such as \"EDR 4x\"; a topology with a faster one gets a warning; left out: not known"});
}

template <auto Member>
Field trust_row(std::string_view doc) {
  return bind<Member>({.key = "trust", .kind = Kind::kText, .doc = doc, .choices = {"pcp", "dscp"}});
}

// Service levels to lanes, DSCP values to priorities, arbitration of lanes.
Field sl_to_vl_row(Field field);
const Object& level_mapping_table();
Field dscp_to_priority_row(Field field);
const Object& dscp_mapping_table();
const Object& arbitration_table();

}  // namespace verbatim::config
