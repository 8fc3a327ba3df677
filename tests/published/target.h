// A target is a set of published values and a function that has the model, or a real program in it, give the
// same ones. A new target is a file FOLDER/NAME.json, a function, and a row in the table of its tool.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace verbatim::published {

// Values by key (Published::key), in the unit of the file. Values that could not be measured are left out;
// their lines are "off".
using Simulated = std::map<std::string, double>;
// Requested keys. A function may return more.
using Wanted = std::set<std::string>;

struct Target {
  std::string_view name;
  std::string_view about;
  Simulated (*measure)(const Wanted& wanted);
};

}  // namespace verbatim::published
