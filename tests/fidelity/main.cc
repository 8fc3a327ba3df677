// tools/fidelity compares the model to published measurements, one line per value.
#include "tests/fidelity/target.h"
#include "tests/published/tool.h"

int main(int argc, char** argv) {
  const verbatim::published::Tool tool{
      .name = "fidelity",
      .about = "The model against published measurements: prints for every value\n"
               "  target  published  simulated  error %  bound %  ok|off\n"
               "A bound of 0 demands the published digits; - demands nothing.",
      .folder = VERBATIM_SOURCE_DIR "/tests/fidelity/published",
      .columns = {"published", "simulated"},
      .targets = verbatim::fidelity::targets()};
  return run_tool(tool, argc, argv);
}
