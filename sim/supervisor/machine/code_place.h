// Source line of a call in a program, for people.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/supervisor/machine/process_memory.h"

namespace verbatim::supervisor {

// "poller+0x11a6": name of the file mapped at `address`, and the offset of `address` from the file's first
// mapping. The number itself if no file is mapped there.
std::string place_in_files(pid_t native_pid, std::uint64_t address);

// Place of the call that returns to `address` in a live process: "app.c:88" if the file has line information
// (-g), otherwise as above. "" for 0.
std::string place_of_call(pid_t native_pid, std::uint64_t address);

// Whether `place` is in an inline function of the verbs headers, which without optimisation is a
// function of the program.
bool is_in_header_of_verbs(const std::string& place);

// File mapped at `address`, and the address of its first mapping; nullopt: no file is mapped there. `mappings` are
// lines_of_mappings() of the process.
struct MappedFile {
  std::string path;
  std::uint64_t first = 0;
};
std::optional<MappedFile> mapped_file_at(const std::vector<std::string>& mappings, std::uint64_t address);

// Whether the code at `address` is a library below /usr/lib or /lib.
bool is_of_system_library(ProcessMemory& memory, std::uint64_t address);

// Whether `address` is in code of the program itself, not of a library, directly after a call instruction.
bool is_return_into_program(ProcessMemory& memory, std::uint64_t address);

}  // namespace verbatim::supervisor
