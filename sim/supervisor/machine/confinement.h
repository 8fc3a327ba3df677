// Confines the programs of a host to folders in which they may change files, by Landlock: the kernel applies
// the rules from the program's first instruction, to every call from every address. Reading and executing
// are not restricted.
//
// Besides files: signals cannot leave the processes that a program has started (Linux 6.12 and later), and no
// real TCP socket can be bound or connected (6.7).
#pragma once

#include <string>
#include <vector>

namespace verbatim::supervisor {

class Confinement {
 public:
  // Reason why this machine has no Landlock; "": it has.
  static std::string reason_of_lack();

  // Files may be changed below `folders`; folders that do not exist are left out. The devices /dev/null,
  // /dev/zero and /dev/full may be written to. Throws std::system_error if the kernel refuses.
  explicit Confinement(std::vector<std::string> folders);
  ~Confinement();
  Confinement(const Confinement&) = delete;
  Confinement& operator=(const Confinement&) = delete;

  // For landlock_restrict_self(2) in the child, before exec.
  int ruleset() const { return ruleset_; }
  // The same rule for actions of the simulator for a program: the native path `path` may be created.
  bool allows(const std::string& path) const;

 private:
  int ruleset_ = -1;
  std::vector<std::string> folders_;  // without symbolic links
};

}  // namespace verbatim::supervisor
