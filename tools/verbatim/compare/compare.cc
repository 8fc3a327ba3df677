// `verbatim compare`: shows figures of two or more runs side by side.
#include <string>
#include <vector>

#include "sim/config/words.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/compare/comparison.h"
#include "tools/verbatim/compare/page.h"
#include "tools/verbatim/output_file.h"

namespace verbatim::cli {

int compare(const CompareOptions& options) {
  Answer answer("compare", options.style);
  if (options.runs.size() < 2) {
    complain(
        "one run is no comparison; write `verbatim compare FOLDER FOLDER`, with folders of `verbatim run "
        "--out`");
    return kUsage;
  }
  for (const std::string& path : options.runs) {
    protect_input(path);
    protect_input(path + "/run.json");
  }
  std::vector<RunSummary> runs;
  bool is_wrong = !can_write(options.html);
  for (const std::string& path : options.runs) {
    std::string failure;
    if (auto run = read_summary(path, &failure)) {
      runs.push_back(std::move(*run));
    } else {
      complain(failure);
      is_wrong = true;
    }
  }
  if (is_wrong) return kUsage;
  label_runs(runs);
  align_classes(runs);
  const std::vector<Figure> figures = comparison_of(runs);
  answer.say("%s", text_of(runs, figures).c_str());
  Answer::Json& list = answer.document()["runs"] = Answer::Json::array();
  for (const RunSummary& run : runs) list.push_back({{"run", run.path}, {"label", run.label}});
  answer.document()["figures"] = to_json(figures);
  if (options.html.empty()) return answer.end(kAsExpected);
  const std::string page = comparison_page(runs, figures);
  if (const std::string failure = write_document(options.html, page); !failure.empty()) {
    complain(failure);
    return answer.end(kProgramFailed);
  }
  if (!is_standard_output(options.html))
    answer.say("\n%s: %zu KiB, opens in any browser\n", options.html.c_str(), page.size() / 1024);
  answer.document()["page"] = {{"file", options.html}, {"bytes", page.size()}};
  return answer.end(kAsExpected);
}

}  // namespace verbatim::cli
