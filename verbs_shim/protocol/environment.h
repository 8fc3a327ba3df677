// Environment variables by which the launcher and the shim's constructor communicate.
#pragma once

namespace verbatim::protocol {

// Prefix of a variable of the program that the launcher has to override for the loader; the shim restores it.
inline constexpr const char* kKeptVariable = "VERBATIM_KEPT_";

}  // namespace verbatim::protocol
