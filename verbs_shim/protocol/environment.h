// What the launcher and the shim's constructor agree on about the environment of a program.
#pragma once

namespace verbatim::protocol {

// In front of a variable that the program was given and that the launcher had to give a value of its own for the
// loader; the shim takes it off again.
inline constexpr const char* kKeptVariable = "VERBATIM_KEPT_";

}  // namespace verbatim::protocol
