// `verbatim verify A B`: whether two runs are equal, and which of their inputs differ.
#include "sim/bundle/bundle_paths.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/run_inputs.h"

namespace verbatim::cli {

namespace {

constexpr std::size_t kMostDifferences = 20;  // differences

// Why the digests cannot be equal or compared; "": both are known and equal.
std::string difference_of_digests(const RunInputs& here, const RunInputs& there) {
  for (const RunInputs* run : {&here, &there}) {
    if (!run->digest) return bundle::printable(run->path) + " has no digest";
  }
  if (here.digest->version != there.digest->version)
    return "the digests are of versions " + std::to_string(here.digest->version) + " and " +
           std::to_string(there.digest->version) + ", which cannot be compared";
  if (here.digest->hex == there.digest->hex) return "";
  return "digest is " + bundle::printable(here.digest->hex) + " here, " +
         bundle::printable(there.digest->hex) + " there";
}

std::string conclusion_of_verify(bool is_equal, std::size_t differences, const RunInputs& here,
                                 const RunInputs& there) {
  if (here.has_no_run() && there.has_no_run()) return is_equal ? "the files are equal" : "the files differ";
  if (is_equal)
    return differences == 0 ? "the runs are equal" : "the runs are equal, although their inputs differ";
  if (differences > 0) return "the runs differ";
  if (here.bundle && there.bundle)
    return "the runs differ, and none of their inputs does; `verbatim run --verify` names the first record that differs";
  return "the runs differ, and none of the inputs that are known of both does; `verbatim pack` also keeps "
         "the files that programs look at";
}

}  // namespace

int verify_runs(const VerifyOptions& options) {
  std::optional<RunInputs> runs[2];
  bool is_wrong = false;
  for (int i = 0; i < 2; ++i) {
    std::string failure;
    runs[i] = read_inputs(i == 0 ? options.here : options.there, &failure);
    if (!runs[i]) complain(failure);
    is_wrong |= !runs[i];
  }
  if (is_wrong) return kUsage;
  Answer answer("verify", options.style);
  const RunInputs &here = *runs[0], &there = *runs[1];
  const std::vector<std::string> differences = differences_of(here, there);
  const bool have_no_run = here.has_no_run() && there.has_no_run();
  const std::string digests = have_no_run ? "" : difference_of_digests(here, there);
  const bool is_equal = have_no_run ? differences.empty() : digests.empty();
  answer.print("here: %s; there: %s\n", bundle::printable(here.path).c_str(),
               bundle::printable(there.path).c_str());
  for (std::size_t i = 0; i < std::min(kMostDifferences, differences.size()); ++i)
    answer.print("%s\n", differences[i].c_str());
  if (differences.size() > kMostDifferences)
    answer.print("%zu further differences; --json lists all\n", differences.size() - kMostDifferences);
  if (!digests.empty()) answer.print_failure("%s\n", digests.c_str());
  answer.print("%s\n", conclusion_of_verify(is_equal, differences.size(), here, there).c_str());
  answer.document() = {
      {"here", here.path}, {"there", there.path}, {"is_equal", is_equal}, {"differences", differences}};
  if (!digests.empty()) answer.document()["digests"] = digests;
  return answer.end(is_equal ? kAsExpected : kProgramFailed);
}

}  // namespace verbatim::cli
