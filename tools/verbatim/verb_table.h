// Verbs and options as plain values, read from the command line's definition. Manual pages, completion and
// guides are generated from these without including CLI11, which takes seconds to compile.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace verbatim::cli {

struct OptionText {
  std::vector<std::string> short_names;  // "-o"
  std::vector<std::string> long_names;   // "--out"
  std::string positional;                // "topology"; empty: an option
  bool is_required = false;
  bool takes_value = false;
  std::string value;                 // placeholder: "FILE", "N", "never|free"
  std::vector<std::string> choices;  // the allowed values; empty: any
  std::string about;                 // help text
  std::string default_value;         // empty: not shown

  // Short names, then long ones; none for a positional.
  std::vector<std::string> names() const {
    std::vector<std::string> all = short_names;
    all.insert(all.end(), long_names.begin(), long_names.end());
    return all;
  }
};

// The words in one line, separated by `between`.
inline std::string line_of(const std::vector<std::string>& words, const std::string& between) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : between) + word;
  return all;
}

struct VerbText {
  std::string words;               // "lab run"; empty: the program itself
  std::string sentence;            // help text, without forms; no full stop
  std::vector<std::string> forms;  // usage, a line each
  std::vector<OptionText> options;
  std::vector<std::string> below;  // verbs below it: "run" for "lab"
};

// The program, then each verb in --help, each followed by the verbs below it.
std::vector<VerbText> verb_table(const CLI::App& app);

}  // namespace verbatim::cli
