// System calls of files that trapped often in a process of the run and were replaced there. A process of the same files
// that makes one of them often makes the others soon: they are replaced together, and none has to trap as often
// first. Only real time depends on this.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sim/supervisor/code/code_patches.h"

namespace verbatim::code {

class KnownCalls {
 public:
  static constexpr std::size_t kMost = 256;

  // The call at `origin`, one of `calls`, has been replaced. Ignored if it is known or kMost are.
  void add(const CodePatches::Origin& origin, std::span<const CallSite> calls);
  // Replaces the calls from number `from` on that the process has mapped; `from` is then their number.
  void replace_in(CodePatches& patches, host::ProgramMemory& memory, std::size_t& from) const;

 private:
  struct Call {
    const FileCode* file;
    CallSite site;
  };
  std::vector<Call> calls_;  // in the order in which they were replaced
};

}  // namespace verbatim::code
