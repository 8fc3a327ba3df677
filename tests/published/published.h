// Published values from files: one file per target, groups of values with unit, bound, source and certainty.
// The code that obtains the model's values is separate.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace verbatim::published {

// How far a simulated value may be from the published one.
struct Bound {
  enum class Kind {
    kPercent,  // so many percent away
    kExact,    // equal to the published digits
    kBand,     // between two values that are published, too
    kNone,     // reported only
  };
  Kind kind = Kind::kNone;
  double percent = 0;
  double low = 0, high = 0;
};

struct Published {
  std::string name;  // "qdr.write.128"
  std::string key;   // the name without that of the target: "write.128"
  std::string unit;
  std::string text;  // as published
  double value = 0;
  int decimals = 0;  // of the text
  Bound bound;
  bool in_short_form = false;
  std::string source;
  std::string certainty;  // "found", "computed", "memory" …
  bool is_bar = true;  // false: out of its bound, it is reported and fails nothing
};

// Values of a target, in the order of the file FOLDER/TARGET.json. Empty, and a sentence in `error`, when the
// file is missing or has something else in it.
std::vector<Published> read_published(const std::string& folder, const std::string& target,
                                      std::string& error);

}  // namespace verbatim::published
