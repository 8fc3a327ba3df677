// Environments in which the golden table must hold, as far as one machine can provide them.
#pragma once

#include <string>
#include <vector>

#include "tests/golden/golden_table.h"

namespace verbatim::golden {

// A command prefix that restricts the process to the last processor that this process may use.
std::vector<std::string> on_one_processor();

// A command prefix for user, mount and process namespaces of its own, as in an unprivileged container. If
// this machine does not permit it: empty, with the reason.
std::vector<std::string> in_namespaces(std::string* reason);

// A command prefix that adds modules to each folder of Debian's Python 3.11, as a package does, for the command alone.
// `folder` is an empty one for the modules. If this machine does not permit it: empty, with the reason.
std::vector<std::string> with_an_extra_package(const std::string& folder, std::string* reason);

// A copy of the rows' files in a world-readable folder, and a command prefix for an unprivileged user. If the
// tests do not run as root, the prefix is empty, with the reason.
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

// The facilities that `verbatim run --assume-missing` can do without; if they cannot be listed: empty, with the reason.
std::vector<std::string> facilities(std::string* reason);

}  // namespace verbatim::golden
