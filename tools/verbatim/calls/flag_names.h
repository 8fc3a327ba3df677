// Names of flags and constants of system calls.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace verbatim::cli {

struct FlagName {
  std::uint64_t bits;
  const char* name;
};

// "O_RDONLY|O_CLOEXEC"; unnamed bits follow in hexadecimal. `none` is the text for 0.
std::string flag_text(std::uint64_t value, std::span<const FlagName> names, const char* none = "0");
// The name of the value, or its number.
std::string constant_text(std::int64_t value, std::span<const FlagName> names);

std::string open_flags_text(std::uint64_t flags);
std::string socket_type_text(std::uint64_t type);
std::string futex_operation_text(std::uint64_t operation);
std::string map_flags_text(std::uint64_t flags);
std::string clone_flags_text(std::uint64_t flags);
std::string signal_text(std::int64_t signal);

extern const std::span<const FlagName> kProtections, kFamilies, kWhences, kEpollOperations, kEpollEvents,
    kPollEvents, kClocks, kMessageFlags, kAccessModes, kFileCommands, kMaskChanges, kAdvices;

}  // namespace verbatim::cli
