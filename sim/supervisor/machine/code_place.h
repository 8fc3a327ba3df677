// Where in a program a call was made, for people.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "sim/supervisor/machine/process_memory.h"

namespace verbatim::supervisor {

// The file that is mapped at `address` of a process and the offset of the address from where its first part lies:
// "poller+0x11a6". The number itself where nothing is mapped from a file.
std::string place_in_files(pid_t native_pid, std::uint64_t address);

// Where the call was made that returns to `address` of a process which is alive: "app.c:88" where the file has lines (-g), else as
// above. "" for 0.
std::string place_of_call(pid_t native_pid, std::uint64_t address);

// Whether that is the place of an inline function of the headers of verbs: without optimisation they are functions of the
// program.
bool is_in_header_of_verbs(const std::string& place);

// The file that is mapped at `address`, and where its first part lies; none: nothing is mapped there from a file.
struct MappedFile {
  std::string path;
  std::uint64_t first = 0;
};
std::optional<MappedFile> mapped_file_at(pid_t native_pid, std::uint64_t address);

// Whether the system has brought the code there, other than as a program.
bool is_of_system_library(pid_t native_pid, std::uint64_t address);

// Whether `address` lies in code of the program itself, not of a library, right behind a call.
bool is_return_into_program(pid_t native_pid, ProcessMemory& memory, std::uint64_t address);

}  // namespace verbatim::supervisor
