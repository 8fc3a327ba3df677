#include "tests/published/published.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace verbatim::published {

namespace {

using Json = nlohmann::ordered_json;

// A finding about a file that is being read.
struct Wrong {
  std::string what;
};

double number_of(const std::string& text) {
  std::size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
  }
  if (used == 0 || used != text.size()) throw Wrong{"\"" + text + "\" is not a number"};
  return value;
}

int decimals_of(const std::string& text) {
  const std::size_t point = text.find('.');
  return point == std::string::npos ? 0 : static_cast<int>(text.size() - point - 1);
}

Bound bound_of(const Json& group, const std::string& key) {
  if (group.contains("bands")) {
    const Json& band = group.at("bands").at(key);
    return {Bound::Kind::kBand, 0, number_of(band.at(0)), number_of(band.at(1))};
  }
  const Json& bound = group.at("bound_percent");
  if (bound.is_null()) return {};
  if (bound == 0) return {Bound::Kind::kExact};
  return {Bound::Kind::kPercent, bound.get<double>()};
}

void read_group(const Json& group, const std::string& target, std::vector<Published>& all) {
  static const std::vector<std::string> kKeys = {
      "name", "unit", "source", "certainty", "bound_percent", "bands", "values", "short_form", "note", "bar"};
  for (const auto& [key, value] : group.items()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) throw Wrong{"unknown key \"" + key + "\""};
  }
  const auto short_form = group.value("short_form", std::vector<std::string>());
  static const std::vector<std::string> kCertainties = {"found", "found-secondary", "computed", "memory", "mixed"};
  const std::string certainty = group.at("certainty");
  if (std::find(kCertainties.begin(), kCertainties.end(), certainty) == kCertainties.end()) {
    throw Wrong{"unknown certainty \"" + certainty + "\""};
  }
  for (const std::string& key : short_form) {
    if (key != "*" && !group.at("values").contains(key)) throw Wrong{"short_form names \"" + key + "\", which has no value"};
  }
  for (const auto& [key, text] : group.at("values").items()) {
    Published published;
    const std::string name = group.value("name", "");
    published.key = name.empty() ? key : key.empty() ? name : name + "." + key;
    published.name = target + "." + published.key;
    published.unit = group.at("unit");
    published.text = text;
    published.value = number_of(published.text);
    published.decimals = decimals_of(published.text);
    published.bound = bound_of(group, key);
    published.source = group.at("source");
    published.certainty = certainty;
    published.is_bar = group.value("bar", true);
    published.in_short_form = std::find(short_form.begin(), short_form.end(), key) != short_form.end() ||
                              (short_form.size() == 1 && short_form[0] == "*");
    const auto is_same = [&](const Published& other) { return other.key == published.key; };
    if (std::any_of(all.begin(), all.end(), is_same)) throw Wrong{"\"" + published.key + "\" occurs twice"};
    all.push_back(std::move(published));
  }
}

}  // namespace

std::vector<Published> read_published(const std::string& folder, const std::string& target,
                                      std::string& error) {
  const std::string file = folder + "/" + target + ".json";
  std::vector<Published> all;
  try {
    std::ifstream stream(file);
    if (!stream) throw Wrong{"cannot be read"};
    const Json file_content = Json::parse(stream);
    for (const Json& group : file_content.at("groups")) read_group(group, target, all);
    if (all.empty()) throw Wrong{"has no values"};
    return all;
  } catch (const Wrong& wrong) {
    error = file + ": " + wrong.what;
  } catch (const nlohmann::json::exception& wrong) {
    error = file + ": " + wrong.what();
  }
  return {};
}

}  // namespace verbatim::published
