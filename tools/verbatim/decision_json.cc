#include "tools/verbatim/decision_json.h"

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
    entry.at("occurrence").get_to(decision.occurrence);
    decision.occurrence = decision.occurrence * explore::step_of(decision.site) + entry.value("part", 0u);
    entry.at("answer").get_to(decision.answer);
    entry.at("of").get_to(decision.alternatives);
    entry.at("time_ps").get_to(decision.time_ps);
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

}  // namespace verbatim::cli
