#include "tools/verbatim/decision_json.h"

#include <cstdint>
#include <limits>

#include "tools/verbatim/whole_number.h"

namespace verbatim::cli {

nlohmann::ordered_json to_json(const std::vector<explore::Decision>& decisions) {
  auto list = nlohmann::ordered_json::array();
  for (const explore::Decision& decision : decisions) {
    const std::uint64_t step = explore::step_of(decision.site);
    auto& entry = list.emplace_back(nlohmann::ordered_json{{"site", decision.site},
                                                           {"actor", decision.actor},
                                                           {"occurrence", decision.occurrence / step},
                                                           {"answer", decision.answer},
                                                           {"of", decision.alternatives},
                                                           {"time_ps", decision.time_ps}});
    if (decision.occurrence % step != 0) entry["part"] = decision.occurrence % step;
  }
  return list;
}

std::vector<explore::Decision> decisions_of(const nlohmann::ordered_json& json) {
  std::vector<explore::Decision> decisions;
  for (const auto& entry : json) {
    explore::Decision decision;
    entry.at("site").get_to(decision.site);
    entry.at("actor").get_to(decision.actor);
    const std::uint64_t step = explore::step_of(decision.site);
    decision.occurrence = whole_number<std::uint64_t>(entry.at("occurrence"), 0, std::numeric_limits<std::uint64_t>::max() / step - 1) * step;
    if (entry.contains("part")) decision.occurrence += whole_number<std::uint64_t>(entry.at("part"), 0, step - 1);
    decision.answer = whole_number<std::uint32_t>(entry.at("answer"));
    decision.alternatives = whole_number<std::uint32_t>(entry.at("of"));
    decision.time_ps = whole_number<std::int64_t>(entry.at("time_ps"));
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

}  // namespace verbatim::cli
