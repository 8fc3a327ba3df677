// Patches of one simulated process. Instructions whose result depends on the machine are replaced in its
// memory, never in a file. Readers of that memory (the process itself, a debugger, a core dump) see the
// replacement: a jump into a patch area, or HLT if no jump fits.
//
// The areas and the data at kPatchDataAddress are mapped before the first instruction of the process
// (sim/supervisor/machine/loader_trace.h). A copy of the process has copies of them and of this object.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/host/program_memory.h"
#include "sim/supervisor/code/code_files.h"

namespace verbatim::code {

// An instruction that was not replaced, or bytes that may be one.
struct Unpatched {
  protocol::DecidedInstruction kind;
  std::string object;        // file, or "memory"
  std::uint64_t offset = 0;  // in the file; address for "memory"
};

// Jumps back of loops in which a process was found to wait, for later copies of the same process.
class WaitingJumps;

class CodePatches {
 public:
  // `jumps` false: every replacement is a trap.
  explicit CodePatches(bool jumps = true) : jumps_(jumps) {}

  // Adds the patch area at `address`, which is mapped, and writes its header and entry instructions. False:
  // the memory cannot be written, and the area is not added.
  bool open_area(host::ProgramMemory& memory, std::uint64_t address);
  // Adds the area; its header is written when the first replacement uses it.
  void add_area(std::uint64_t address) { areas_.push_back({address, kAreaStart, false}); }
  // Entry points of the shim for stubs of instructions and of system calls.
  struct Entries {
    std::uint64_t instruction = 0, call = 0;
  };
  // The shim is loaded: writes its entry points to the headers of areas, of later ones when they are opened.
  // False: a header cannot be written.
  bool set_entries(host::ProgramMemory& memory, Entries entries);

  // Code of `file` is mapped: replaces its instructions in `length` bytes at `address`, which have file
  // offset `offset`. Forgets previous data about the range.
  void patch_file(host::ProgramMemory& memory, const FileCode& file, std::uint64_t address, std::uint64_t length,
                  std::uint64_t offset);
  // Replaces instructions in code that was generated or changed at run time. Replacements that the program
  // has not overwritten stay; where memory equals its file, the search results of the file are used. False:
  // some bytes may be an instruction that was not replaced, or cannot be read.
  bool patch_memory(host::ProgramMemory& memory, std::uint64_t address, std::uint64_t length);
  // Whether the range needs no patch_memory(): bytes that may be an instruction to replace are replaced, or
  // equal those of a file in which they are no such instruction.
  bool is_known(host::ProgramMemory& memory, std::uint64_t address, std::uint64_t length) const;
  // The range has other contents: forgets origins, replacements and traps there, without writing code.
  void forget(host::ProgramMemory& memory, std::uint64_t address, std::uint64_t length);

  // Origin of code. nullptr: no file, or unknown.
  struct Origin {
    const FileCode* file = nullptr;
    std::uint64_t offset = 0;  // in the file
  };
  Origin origin_of(std::uint64_t address) const;
  // Address of code of a file; nullopt: not mapped as code.
  std::optional<std::uint64_t> address_of(const FileCode& file, std::uint64_t offset) const;
  // Whether one of `length` bytes belongs to a replacement.
  bool is_replaced(std::uint64_t address, std::uint64_t length) const;
  // Replaces the system call at `origin`, mapped at `address`, by a jump if it is one of `calls`.
  // False: not replaced.
  bool replace_call(host::ProgramMemory& memory, std::uint64_t address, const Origin& origin, std::span<const CallSite> calls);
  bool replaces_calls() const { return jumps_; }
  // Replaces all of `calls`, calls of `file`, where they are mapped and a jump is possible.
  void replace_calls(host::ProgramMemory& memory, const FileCode& file, std::span<const CallSite> calls);
  // Files with mapped code.
  std::vector<const FileCode*> files() const;

  // Replaces the jump at `address` by a trap (protocol::DecidedInstruction::kLoopJump). False: its code is
  // not from a file, it is already replaced, or the table of traps is full.
  bool trap_jump(host::ProgramMemory& memory, std::uint64_t address, protocol::PatchedInstruction jump);
  // Restores the jump if trap_jump() has replaced it.
  void release_jump(host::ProgramMemory& memory, std::uint64_t address);

  // The jumps noted in this object and in copies of it made from here on are kept together.
  void keep_waiting_jumps();
  // The process waited in the loop that jumps back at `address`. Has an effect after keep_waiting_jumps() only.
  void note_waiting(std::uint64_t address, protocol::PatchedInstruction jump);
  // The jump at `address` trapped repeatedly while the process did not wait.
  void note_not_waiting(std::uint64_t address);
  // The jumps that are kept trap in this process too, where its code is the same.
  void trap_waiting_jumps(host::ProgramMemory& memory);

  // Reserves `length` bytes of the last area for the caller's code, and returns their address; 0: it is full.
  std::uint64_t take_room(std::uint64_t length);

  // The instruction that the HLT at an address replaces.
  std::optional<protocol::PatchedInstruction> trap_at(std::uint64_t address) const;

  // `bytes` were read from `address`: restores the original bytes of replacements in them,
  // partial ones included.
  void show_original(std::uint64_t address, std::span<std::byte> bytes) const;

  // Removes and returns the instructions that were found and not replaced since the last call.
  std::vector<Unpatched> take_unpatched() { return std::exchange(unpatched_, {}); }

  struct Counts {
    unsigned jumps = 0, traps = 0, calls = 0;  // calls: system calls replaced by jumps
  };
  const Counts& counts() const { return counts_; }

 private:
  struct Area {
    std::uint64_t address = 0;
    std::uint64_t used = 0;
    bool is_open = true;
  };
  // After the header page and the entry instructions.
  static constexpr std::uint64_t kAreaStart = 4096 + 16;
  struct Patched {
    std::vector<std::uint8_t> original, written;  // of equal length
    std::uint64_t stub = 0;              // 0: a trap
    bool active = false;  // false: kept so that the same code at the same address can use the stub again
  };
  struct Mapped {
    std::uint64_t length = 0;
    Origin begin;
  };
  class Writer;
  static constexpr std::uint64_t kLongestSite = 32;  // upper bound of a replacement's length, bytes
  void forget_origins(std::uint64_t address, std::uint64_t length);
  class SameLines;
  // Visits the file's sites whose bytes are at an address of the range and equal the file.
  template <class Visit>
  void each_site_of_file(const SameLines& lines, Visit visit) const;
  // Deactivates replacements in the range that the program has overwritten; `bytes` are its present contents.
  void forget_overwritten(Writer& writer, std::uint64_t address, std::span<const std::byte> bytes);
  // Whether the byte at `address` belongs to a replacement.
  bool is_replaced(std::uint64_t address) const;
  void note_site(std::uint64_t address, Patched patched);
  // False: no replacement is near.
  bool may_be_patched(std::uint64_t address, std::uint64_t length) const;

  void patch(Writer& writer, const Site& site, const std::string& object);
  bool patch_call(Writer& writer, const CallSite& site, std::uint64_t address);
  // Writes the jump to the existing stub of the same code.
  bool use_stub_again(Writer& writer, std::uint64_t address, std::span<const std::uint8_t> original);
  bool open(Writer& writer, Area& area) const;
  bool patch_by_jump(Writer& writer, const Site& site);
  bool set_trap(Writer& writer, std::uint64_t address, protocol::PatchedInstruction instruction);
  void clear_trap(Writer& writer, std::uint64_t address);
  // Slot of `address` in the process's table, or the first free one on its probe sequence.
  std::uint32_t trap_slot(std::uint64_t address) const;
  bool write_trap(Writer& writer, std::uint32_t slot, std::uint64_t address, std::uint32_t instruction);
  bool use_many_traps(Writer& writer);

  bool jumps_;
  std::optional<Entries> entries_;  // nullopt: the shim is not loaded yet
  std::vector<Area> areas_;
  using Sites = std::map<std::uint64_t, Patched>;
  // Its own after the call: copies of this object share the sites until one of them changes.
  Sites& own_sites() {
    if (sites_.use_count() > 1) sites_ = std::make_shared<Sites>(*sites_);
    return *sites_;
  }
  const Sites& sites() const { return *sites_; }
  bool has_sites(std::uint64_t first, std::uint64_t end) const {
    const auto it = sites_->lower_bound(first);
    return it != sites_->end() && it->first < end;
  }
  std::shared_ptr<Sites> sites_ = std::make_shared<Sites>();
  std::bitset<4096> patched_lines_;  // lines of 64 bytes, by number modulo 4096
  std::map<std::uint64_t, Mapped> mapped_;  // by address
  std::map<std::uint64_t, std::uint32_t> traps_;  // address, PatchedInstruction::word()
  std::uint64_t address_in(std::uint32_t slot) const;
  std::map<std::uint32_t, std::uint64_t> trap_slots_;    // non-empty slots of the process's table
  std::uint32_t trap_entries_ = protocol::kFewTrapEntries;
  std::vector<Unpatched> unpatched_;
  std::shared_ptr<WaitingJumps> waiting_;  // shared with copies; nullptr: jumps are not kept
  Counts counts_;
};

class WaitingJumps {
 public:
  struct Jump {
    CodePatches::Origin origin;
    protocol::PatchedInstruction instruction;
    bool waits = true;  // false: it trapped repeatedly while the process did not wait
    bool is_done = false;  // the process that is copied traps there, or does not, as `waits` says
  };
  static constexpr std::size_t kMost = 64;

  std::map<std::uint64_t, Jump>& jumps() { return jumps_; }

 private:
  std::map<std::uint64_t, Jump> jumps_;  // by address
};

}  // namespace verbatim::code
