// Machines and users that the golden table must hold on, as far as one machine can play them.
#pragma once

#include <string>
#include <vector>

#include "tests/golden/golden_table.h"

namespace verbatim::golden {

// The last processor that this process may use, and no other.
std::vector<std::string> on_one_processor();

// Words to put before a command so that it runs in user, mount and process namespaces of its own, as in a container
// without privileges; empty, and why not, when this machine does not permit it.
std::vector<std::string> in_namespaces(std::string* reason);

// A copy of the rows' files in a folder that anybody may read, and a command prefix that runs as an
// unprivileged user. Empty prefix, with the reason, if the tests are not run by root.
class Unprivileged {
 public:
  Unprivileged();
  const std::string& reason() const { return reason_; }  // "": it can be used
  const Setting& setting() const { return setting_; }

 private:
  support::TemporaryFolder folder_;
  std::string reason_;
  Setting setting_;
};

// Names of what `verbatim run --assume-missing` can do without; empty, and why, while it cannot.
std::vector<std::string> facilities(std::string* reason);

}  // namespace verbatim::golden
