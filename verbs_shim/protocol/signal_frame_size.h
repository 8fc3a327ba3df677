// The size of signal frames on the program's stacks, independent of the machine.
#pragma once

#include <cstdint>

namespace verbatim::protocol {

// AT_MINSIGSTKSZ, bytes. Linux' value depends on the machine's register sets. This is enough for all, and programs that
// size a stack by it do the same everywhere.
inline constexpr std::uint64_t kSignalFrameSize = 4096;

}  // namespace verbatim::protocol
