// The manual page of each verb (verbatim-run.1 …), from its --help and the hand-written parts in
// tools/manual.
#pragma once

#include <string>
#include <vector>

#include "tools/verbatim/verb_table.h"

namespace verbatim::cli {

struct ManualPage {
  std::string name;  // "verbatim-lab-run"
  std::string roff;
};

// One page for each verb in --help. `folder` has hand-written parts in roff, VERB.roff (lab-run.roff):
// - up to the first mark: the text of DESCRIPTION
// - after `.\" option: --NAME`: an addition to the text of this option
// - after `.\" sections`: the sections after the options
// - `.\" generated: NAME` is replaced by the guide block of this name.
// A verb without a file gets a page from --help alone. `failure` is an error in a file, or empty.
std::vector<ManualPage> manual_pages_of(const std::vector<VerbText>& verbs, const std::string& folder, std::string& failure);

}  // namespace verbatim::cli
