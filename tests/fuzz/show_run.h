// Output of the commands that show a run: the ladder in both forms, the data of the report's page, the trace for Perfetto.
#pragma once

#include "sim/core/check.h"
#include "sim/observe/failure_causes.h"
#include "sim/observe/failure_facts.h"
#include "sim/observe/ladder.h"
#include "tools/verbatim/perfetto.h"
#include "tools/verbatim/report_page.h"

namespace verbatim::fuzz {

inline void show_run(const cli::RecordedRun& run) {
  for (const bool is_first : {true, false}) {
    observe::LadderOptions options;
    options.unicode = is_first;
    options.shows_system_calls = is_first;
    options.width = is_first ? 130 : 60;
    if (!is_first) options.queue_pairs = {72};
    if (!is_first && !run.lines.empty()) options.marked = {run.lines.size() - 1};
    CHECK(observe::ladder_rows(run.lines, options).rows.size() <= run.lines.size());
    (void)observe::ladder_text(run.lines, options);
    (void)observe::ladder_svg(run.lines, options);
  }
  for (const observe::TraceLine& line : run.lines) {
    CHECK(line.time_ps >= 0);
    (void)observe::in_words(line);
  }
  const cli::RunPicture picture = cli::picture_of(run);
  const cli::RecordedFigures figures = cli::figures_of(run, picture);
  CHECK(!cli::data_of(run, picture, figures).head.empty());
  (void)cli::perfetto_trace(picture);
}

}  // namespace verbatim::fuzz
