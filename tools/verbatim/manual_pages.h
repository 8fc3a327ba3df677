// The manual page of each verb (verbatim-run.1 …): its options as --help has them, and what is written by hand in tools/manual.
#pragma once

#include <string>
#include <vector>

#include "tools/verbatim/verb_table.h"

namespace verbatim::cli {

struct ManualPage {
  std::string name;  // "verbatim-lab-run"
  std::string roff;
};

// One page for each verb that --help shows. `folder` has the hand-written parts, VERB.roff (lab-run.roff), in roff:
// - up to the first mark, the text of DESCRIPTION
// - after `.\" option: --NAME`, what is added to the text of this option
// - after `.\" sections`, what follows the options
// - `.\" generated: NAME` becomes the guide block of this name.
// A verb without a file gets a page from --help alone. `failure` says what is wrong with a file, else it is empty.
std::vector<ManualPage> manual_pages_of(const std::vector<VerbText>& verbs, const std::string& folder, std::string& failure);

}  // namespace verbatim::cli
