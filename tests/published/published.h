// Published values from files: one file per target, groups of values with unit, bound, source and certainty.
// The code that obtains the model's values is separate.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace verbatim::published {

// The permitted difference between a simulated value and the published one.
struct Bound {
  enum class Kind {
    kPercent,  // a percentage
    kExact,    // equal to the published digits
    kBand,     // between two other published values
    kNone,     // reported only
  };
  Kind kind = Kind::kNone;
  double percent = 0;
  double low = 0, high = 0;
};

struct Published {
  std::string name;  // "qdr.write.128"
  std::string key;   // name without the target's: "write.128"
  std::string unit;
  std::string text;  // as published
  double value = 0;
  int decimals = 0;  // of `text`
  Bound bound;
  bool in_short_form = false;
  std::string source;
  std::string certainty;  // "found", "computed", "memory" …
  bool is_bar = true;  // false: a value out of its bound is reported, but is no failure
};

// The values of a target, in the order of the file FOLDER/TARGET.json. If the file is missing or malformed:
// empty, with a sentence in `error`.
std::vector<Published> read_published(const std::string& folder, const std::string& target,
                                      std::string& error);

}  // namespace verbatim::published
