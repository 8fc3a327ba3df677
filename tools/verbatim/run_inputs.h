// The inputs of a run: all that its digest depends on, as far as a bundle or a run.json has it; and
// differences between those of two runs.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/bundle/bundle.h"
#include "tools/verbatim/kept_digest.h"

namespace verbatim::cli {

struct RunInputs {
  std::string path;                      // as the user named it
  std::optional<bundle::Bundle> bundle;  // nullopt: a folder or recording
  std::optional<KeptDigest> digest;      // nullopt: not known
  // Names and texts of the simulator's inputs, such as "seed", in the order in which they matter.
  std::vector<std::pair<std::string, std::string>> values;
  std::map<std::string, nlohmann::json>
      files;  // of a bundle: scenario, topology and profiles, by their names
  std::map<std::string, std::string> code;  // of a folder: digests of programs and libraries, by their names

  // A bundle of files alone: a root, or a submission.
  bool has_no_run() const { return bundle && values.empty(); }
};

// nullopt, with a sentence that begins with `path`, if it is neither a bundle nor a run, or is damaged.
std::optional<RunInputs> read_inputs(const std::string& path, std::string* failure);

// A sentence for each difference, those that explain most first: "seed is 1 here, 2 there". Inputs that only
// one of both has are not compared, unless both are bundles.
std::vector<std::string> differences_of(const RunInputs& here, const RunInputs& there);

// The same for what two runs have seen of their machines' files.
std::vector<std::string> differences_of(const bundle::Bundle& here, const bundle::Bundle& there);

}  // namespace verbatim::cli
