// tools/reproduce repeats published congestion experiments, one line for each value.
#include "tests/published/tool.h"
#include "tests/reproduce/target.h"

int main(int argc, char** argv) {
  const verbatim::published::Tool tool{
      .name = "reproduce",
      .about = "Published results of congestion, redone: prints for every value\n"
               "  target  expected  obtained  error %  bound %  ok|off  certainty  source\n"
               "A bound of 0 demands the published digits; - demands nothing. What is not a bar fails nothing.",
      .folder = VERBATIM_SOURCE_DIR "/tests/reproduce/expected",
      .columns = {"expected", "obtained", true},
      .targets = verbatim::reproduce::targets()};
  return run_tool(tool, argc, argv);
}
