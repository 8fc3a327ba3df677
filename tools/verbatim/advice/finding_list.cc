#include "tools/verbatim/advice/finding_list.h"

#include <algorithm>

#include "sim/core/words.h"
#include "sim/explore/signature.h"
#include "tools/verbatim/advice/evidence.h"

namespace verbatim::cli {

void FindingList::add(const std::vector<RunReport::Finding>& findings, std::int64_t run) {
  for (const RunReport::Finding& finding : findings) {
    const std::string where = finding.place.empty() ? explore::without_numbers(finding.text) : finding.place;
    const std::string key = join(finding.check, " ", finding.component, " ", where);
    auto kind = std::ranges::find(kinds_, key, &Kind::key);
    if (kind == kinds_.end()) {
      if (kinds_.size() == kMostKept) continue;
      kinds_.push_back({key, finding, run, 0, 0});
      kind = kinds_.end() - 1;
    }
    if (kind->last_run != run) ++kind->runs;
    kind->last_run = run;
  }
}

std::string FindingList::text(std::int64_t runs) const {
  if (kinds_.empty()) return "";
  std::string text = "checks have found mistakes, whether or not the run failed:\n";
  for (std::size_t i = 0; i < std::min(kinds_.size(), kMostShown); ++i) {
    const Kind& kind = kinds_[i];
    text += join("  ", kind.first.check, ", in ", kind.runs, " of ", runs, runs == 1 ? " run" : " runs", ", first in run ",
                 kind.first_run, ": ", host_in(kind.first.component), ": ", kind.first.text,
                 kind.first.place.empty() ? "" : ", at " + kind.first.place, "\n");
  }
  if (kinds_.size() > kMostShown) text += join("  and ", kinds_.size() - kMostShown, " more, in explore.json\n");
  return text;
}

nlohmann::ordered_json FindingList::json() const {
  auto list = nlohmann::ordered_json::array();
  for (const Kind& kind : kinds_) {
    list.push_back({{"check", kind.first.check},
                    {"host", host_in(kind.first.component)},
                    {"text", kind.first.text},
                    {"place", kind.first.place},
                    {"runs", kind.runs},
                    {"first_run", kind.first_run}});
  }
  return list;
}

}  // namespace verbatim::cli
