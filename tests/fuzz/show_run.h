// Output of commands that show a run: the ladder in both forms, the data of the report page, the Perfetto trace.
#pragma once

#include <functional>
#include <string_view>

#include "sim/core/check.h"
#include "sim/observe/failure_causes.h"
#include "sim/observe/failure_facts.h"
#include "sim/observe/ladder.h"
#include "tools/verbatim/perfetto.h"
#include "tools/verbatim/report_page.h"

namespace verbatim::fuzz {

// Whether a target shows what it has read from `input`. Showing takes milliseconds, reading microseconds: the
// libFuzzer program shows one input of 64, selected by its bytes; the replay program shows all.
inline bool is_shown(std::string_view input) {
#ifdef VERBATIM_LIBFUZZER
  constexpr std::size_t kReadForEachShown = 64;
#else
  constexpr std::size_t kReadForEachShown = 1;
#endif
  return std::hash<std::string_view>{}(input) % kReadForEachShown == 0;
}

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
