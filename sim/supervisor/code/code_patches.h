// The patches of one simulated process: instructions that the machine would decide are replaced in its memory, never in
// a file. Whoever reads that memory (the process itself, a debugger, a core dump) sees the replacement: a jump into a
// patch area, or HLT where none fits.
//
// The areas and the data at kPatchDataAddress are mapped before the first instruction of the process (sim/supervisor/
// loader_trace). A copy of the process has copies of all of them, and of this object.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/host/program_memory.h"
#include "sim/supervisor/code/code_files.h"

namespace verbatim::code {

// An instruction that was left alone, or may be one.
struct Unpatched {
  protocol::DecidedInstruction kind;
  std::string object;        // file, or "memory"
  std::uint64_t offset = 0;  // in the file; the address in memory
};

class CodePatches {
 public:
  // `jumps`: where they fit; otherwise everything traps.
  explicit CodePatches(bool jumps = true) : jumps_(jumps) {}

  // The area begins at `address` and is mapped. Writes its first instructions and its header.
  bool open_area(host::ProgramMemory& memory, std::uint64_t address);
  // The same when the first replacement needs it.
  void add_area(std::uint64_t address) { areas_.push_back({address, kAreaStart, false}); }
  // Of the shim: what stubs call for instructions, and where those of system calls go.
  struct Entries {
    std::uint64_t instruction = 0, call = 0;
  };
  bool set_entries(host::ProgramMemory& memory, Entries entries);

  // `length` bytes at `address` are `file` from `offset` on. What was known about the range is forgotten.
  void patch_file(host::ProgramMemory& memory, const FileCode& file, std::uint64_t address, std::uint64_t length,
                  std::uint64_t offset);
  // The range holds code that was made at run time, or that was changed: what has been replaced there and not been overwritten
  // stays replaced.
  void patch_memory(host::ProgramMemory& memory, std::uint64_t address, std::uint64_t length);
  // The range holds something else now.
  void forget(host::ProgramMemory& memory, std::uint64_t address, std::uint64_t length);

  // Where code comes from. nullptr: from no file, or it is not known.
  struct Origin {
    const FileCode* file = nullptr;
    std::uint64_t offset = 0;  // in the file
  };
  Origin origin_of(std::uint64_t address) const;
  // Where code of a file lies; nullopt: it is not mapped as code.
  std::optional<std::uint64_t> address_of(const FileCode& file, std::uint64_t offset) const;
  // Whether one of `length` bytes is one of a replacement.
  bool is_replaced(std::uint64_t address, std::uint64_t length) const;
  // The system call at `origin`, mapped at `address`, becomes a jump if it is one of `calls`. False: it does not.
  bool replace_call(host::ProgramMemory& memory, std::uint64_t address, const Origin& origin, std::span<const CallSite> calls);
  bool replaces_calls() const { return jumps_; }
  // All of `calls`, those of `file`, become jumps where they are mapped and can.
  void replace_calls(host::ProgramMemory& memory, const FileCode& file, std::span<const CallSite> calls);
  // Whose code is mapped.
  std::vector<const FileCode*> files() const;

  // The jump at `address` traps from now on (protocol::DecidedInstruction::kLoopJump). False: it does not, as it comes from no
  // file, is replaced already, or the table is full.
  bool trap_jump(host::ProgramMemory& memory, std::uint64_t address, protocol::PatchedInstruction jump);
  // It is as it was, if trap_jump() has replaced it.
  void release_jump(host::ProgramMemory& memory, std::uint64_t address);

  // Takes `length` bytes of the last area for code of the caller's; 0: it is full.
  std::uint64_t take_room(std::uint64_t length);

  // What the HLT at an address stands for.
  std::optional<protocol::PatchedInstruction> trap_at(std::uint64_t address) const;

  // `bytes` were read from `address`: the replacements among them, and parts of some at their ends, become what they replaced.
  void show_original(std::uint64_t address, std::span<std::byte> bytes) const;

  // What was left alone since the last call.
  std::vector<Unpatched> take_unpatched() { return std::exchange(unpatched_, {}); }

  struct Counts {
    unsigned jumps = 0, traps = 0, calls = 0;  // calls: system calls that are jumps
  };
  const Counts& counts() const { return counts_; }

 private:
  struct Area {
    std::uint64_t address = 0;
    std::uint64_t used = 0;
    bool is_open = true;
  };
  // Behind the header and the first instructions.
  static constexpr std::uint64_t kAreaStart = 4096 + 16;
  struct Patched {
    std::vector<std::uint8_t> original, written;  // of one length
    std::uint64_t stub = 0;              // 0: a trap
    bool active = false;  // otherwise its stub waits for the same code at the same place
  };
  struct Mapped {
    std::uint64_t length = 0;
    Origin begin;
  };
  class Writer;
  static constexpr std::uint64_t kLongestSite = 32;  // bytes of a replacement, or more
  void forget_origins(std::uint64_t address, std::uint64_t length);
  // What was replaced at `address`, where there are `bytes` now, and is something else by now.
  void forget_overwritten(Writer& writer, std::uint64_t address, std::span<const std::byte> bytes);
  // Whether the byte at `address` is one of a replacement.
  bool is_replaced(std::uint64_t address) const;
  void note_site(std::uint64_t address, Patched patched);
  // False: there is no replacement near.
  bool may_be_patched(std::uint64_t address, std::uint64_t length) const;

  void patch(Writer& writer, const Site& site, const std::string& object);
  bool patch_call(Writer& writer, const CallSite& site, std::uint64_t address);
  // Puts the jump to the stub there that the same code had before.
  bool use_stub_again(Writer& writer, std::uint64_t address, std::span<const std::uint8_t> original);
  bool open(Writer& writer, Area& area) const;
  bool patch_by_jump(Writer& writer, const Site& site);
  bool set_trap(Writer& writer, std::uint64_t address, protocol::PatchedInstruction instruction);
  void clear_trap(Writer& writer, std::uint64_t address);
  // The slot of `address` in the process's table, or the first free one on the way to it.
  std::uint32_t trap_slot(std::uint64_t address) const;
  bool write_trap(Writer& writer, std::uint32_t slot, std::uint64_t address, std::uint32_t instruction);
  bool use_many_traps(Writer& writer);

  bool jumps_;
  std::optional<Entries> entries_;  // nullopt: the shim is not there yet
  std::vector<Area> areas_;
  std::map<std::uint64_t, Patched> sites_;
  std::bitset<4096> patched_lines_;  // of 64 bytes, by number modulo 4096
  std::map<std::uint64_t, Mapped> mapped_;  // by address
  std::map<std::uint64_t, std::uint32_t> traps_;  // address, PatchedInstruction::word()
  std::uint64_t address_in(std::uint32_t slot) const;
  std::map<std::uint32_t, std::uint64_t> trap_slots_;    // those of the process's table that are not empty
  std::uint32_t trap_entries_ = protocol::kFewTrapEntries;
  std::vector<Unpatched> unpatched_;
  Counts counts_;
};

}  // namespace verbatim::code
