// Confines the programs of a simulated host to folders in which they may change files: Landlock, which the kernel applies to
// each program from its first instruction on, whatever it calls and by which entry. Reading and executing stay as they are.
//
// Beside files: no signal leaves the processes that a program has made (Linux 6.12 and later), and no TCP socket of the machine
// is bound or connected (6.7), should one ever be made.
#pragma once

#include <string>
#include <vector>

namespace verbatim::supervisor {

class Confinement {
 public:
  // Why this machine has no Landlock; "": it has.
  static std::string reason_of_lack();

  // `folders`: below which files may be changed; those that are not there are left out. Devices whose content is the same
  // everywhere may be written to. Throws std::system_error where the kernel refuses.
  explicit Confinement(std::vector<std::string> folders);
  ~Confinement();
  Confinement(const Confinement&) = delete;
  Confinement& operator=(const Confinement&) = delete;

  // For landlock_restrict_self(2), in the process between its start and its program.
  int ruleset() const { return ruleset_; }
  // The same rule for what the simulator does for a program: whether `path`, a name of the machine's, may be made.
  bool allows(const std::string& path) const;

 private:
  int ruleset_ = -1;
  std::vector<std::string> folders_;  // without symbolic links
};

}  // namespace verbatim::supervisor
