#include "sim/supervisor/code/code_patches.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim/supervisor/code/stub.h"

namespace verbatim::code {

using protocol::PatchedInstruction;

namespace {

constexpr std::uint64_t kLine = 64;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kClearedSlot = 1;  // no code has this address; the probe sequence continues after it

std::span<const std::byte> bytes_of(const std::vector<std::uint8_t>& bytes) { return std::as_bytes(std::span(bytes)); }

}  // namespace

// Collects changes by page: a page of code is written once, however many of its instructions are replaced.
class CodePatches::Writer {
 public:
  explicit Writer(host::ProgramMemory& memory) : memory_(memory) {}

  // Reads the pages of `addresses` (ascending), neighbours together.
  void read_ahead(std::span<const std::uint64_t> addresses) {
    constexpr std::uint64_t kGap = 8;  // pages that are cheaper to read than to skip
    for (std::size_t i = 0; i < addresses.size();) {
      const std::uint64_t first = addresses[i] & ~(kPage - 1);
      std::uint64_t end = first + kPage;
      for (; i < addresses.size() && addresses[i] < end + kGap * kPage; ++i)
        end = std::max(end, (addresses[i] & ~(kPage - 1)) + kPage);
      std::vector<std::byte> bytes(end - first);
      if (!memory_.read(first, bytes)) continue;
      for (std::uint64_t at = first; at < end; at += kPage) {
        const auto [it, is_new] = pages_.try_emplace(at);
        if (!is_new) continue;
        std::ranges::copy(std::span(bytes).subspan(at - first, kPage), it->second.before.begin());
        it->second.bytes = it->second.before;
      }
    }
  }

  bool write(std::uint64_t address, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      Page* const page = page_of(address);
      if (page == nullptr) return false;
      const std::size_t at = address % kPage, length = std::min<std::size_t>(bytes.size(), kPage - at);
      std::memcpy(page->bytes.data() + at, bytes.data(), length);
      page->changed = true;
      address += length;
      bytes = bytes.subspan(length);
    }
    return true;
  }
  // Whether `bytes` were at `address` before any change.
  bool held(std::uint64_t address, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const Page* const page = page_of(address);
      const std::size_t at = address % kPage, length = std::min<std::size_t>(bytes.size(), kPage - at);
      if (page == nullptr || std::memcmp(page->before.data() + at, bytes.data(), length) != 0) return false;
      address += length;
      bytes = bytes.subspan(length);
    }
    return true;
  }
  bool write(std::uint64_t address, const std::vector<std::uint8_t>& bytes) { return write(address, bytes_of(bytes)); }

  // False: a page cannot be written.
  bool finish() {
    bool all = true;
    std::vector<std::byte> bytes;
    for (auto it = pages_.begin(); it != pages_.end(); ++it) {
      const auto& [address, page] = *it;
      if (!page.changed) continue;
      bytes.insert(bytes.end(), page.bytes.begin(), page.bytes.end());
      const auto next = std::next(it);
      if (next != pages_.end() && next->second.changed && next->first == address + kPage) continue;
      all &= memory_.write_code(address + kPage - bytes.size(), bytes);
      bytes.clear();
    }
    pages_.clear();
    return all;
  }

 private:
  struct Page {
    std::vector<std::byte> before = std::vector<std::byte>(kPage), bytes;
    bool changed = false;
  };

  // nullptr: it cannot be read.
  Page* page_of(std::uint64_t address) {
    const auto [it, is_new] = pages_.try_emplace(address & ~(kPage - 1));
    Page& page = it->second;
    if (is_new && !memory_.read(it->first, page.before)) {
      pages_.erase(it);
      return nullptr;
    }
    if (is_new) page.bytes = page.before;
    return &page;
  }

  host::ProgramMemory& memory_;
  std::map<std::uint64_t, Page> pages_;
};

bool CodePatches::open_area(host::ProgramMemory& memory, std::uint64_t address) {
  Writer writer(memory);
  Area area{address, kAreaStart, false};
  if (!open(writer, area) || !writer.finish()) return false;
  areas_.push_back(area);
  return true;
}

bool CodePatches::open(Writer& writer, Area& area) const {
  const std::uint64_t early = area.address + kPage;
  const Entries entries = entries_.value_or(Entries{early, early + kEarlyCallEntry});
  const protocol::PatchAreaHeader header{0, entries.instruction, entries.call};
  area.is_open = writer.write(area.address, std::as_bytes(std::span(&header, 1))) && writer.write(early, make_early_entries());
  return area.is_open;
}

bool CodePatches::set_entries(host::ProgramMemory& memory, Entries entries) {
  bool all = true;
  entries_ = entries;
  for (const Area& area : areas_) {
    if (!area.is_open) continue;
    const protocol::PatchAreaHeader header{0, entries.instruction, entries.call};
    all &= memory.write(area.address, std::as_bytes(std::span(&header, 1)));
  }
  return all;
}

std::uint64_t CodePatches::take_room(std::uint64_t length) {
  if (areas_.empty() || areas_.back().used + length > protocol::kPatchAreaSize) return 0;
  const std::uint64_t at = areas_.back().address + areas_.back().used;
  areas_.back().used += (length + 15) & ~15ull;
  return at;
}

void CodePatches::patch_file(host::ProgramMemory& memory, const FileCode& file, std::uint64_t address,
                             std::uint64_t length, std::uint64_t offset) {
  forget(memory, address, length);
  mapped_[address] = {length, {&file, offset}};
  Writer writer(memory);
  const auto is_here = [&](const Site& site) { return site.offset >= offset && site.offset < offset + length; };
  std::vector<std::uint64_t> addresses;
  for (const Site& found : file.found.sites) {
    if (is_here(found)) addresses.push_back(address + (found.offset - offset));
  }
  std::ranges::sort(addresses);
  writer.read_ahead(addresses);
  for (const Site& found : file.found.sites) {
    if (!is_here(found)) continue;
    Site site = found;
    site.address = address + (found.offset - offset);
    if (site.offset + site.bytes.size() > offset + length) {
      site.jump_length = 0;
      site.relatives.clear();
      site.bytes.resize(site.length);
    }
    patch(writer, site, file.path);
  }
  for (const Doubt& doubt : file.found.doubts) {
    if (doubt.offset >= offset && doubt.offset < offset + length)
      unpatched_.push_back({doubt.kind, file.path, doubt.offset});
  }
  if (!writer.finish()) unpatched_.push_back({protocol::DecidedInstruction::kNone, file.path, offset});
}

// The lines of a range of memory that equal the file mapped there.
class CodePatches::SameLines {
 public:
  // `original`: the range's bytes without replacements.
  SameLines(const CodePatches& patches, std::uint64_t address, std::span<const std::byte> original)
      : address_(address), is_same_(original.size() / kLine) {
    for (std::size_t at = 0; at + kPage <= original.size(); at += kPage) {
      const Origin origin = patches.origin_of(address + at);
      if (origin.file == nullptr) continue;
      const std::vector<std::byte> file = read_part(*origin.file, origin.offset, kPage);
      for (std::size_t line = 0; line < file.size(); line += kLine) {
        const Origin here = patches.origin_of(address + at + line);
        is_same_[(at + line) / kLine] = here.file == origin.file && here.offset == origin.offset + line &&
                                        std::memcmp(original.data() + at + line, file.data() + line, kLine) == 0;
      }
    }
  }

  std::uint64_t begin() const { return address_; }
  std::uint64_t end() const { return address_ + is_same_.size() * kLine; }
  // Whether all of `length` bytes from `at` on that are in the range are in such lines.
  bool hold(std::uint64_t at, std::uint64_t length) const {
    const std::uint64_t first = std::max(at, begin()), last = std::min(at + length, end());
    for (std::uint64_t line = first & ~(kLine - 1); line < last; line += kLine) {
      if (!is_same_[(line - address_) / kLine]) return false;
    }
    return true;
  }
  bool none() const { return std::ranges::find(is_same_, true) == is_same_.end(); }

 private:
  std::uint64_t address_;
  std::vector<bool> is_same_;
};

template <class Visit>
void CodePatches::each_site_of_file(const SameLines& lines, Visit visit) const {
  if (lines.none()) return;
  for (const auto& [begin, mapped] : mapped_) {
    if (begin >= lines.end() || begin + mapped.length <= lines.begin() || mapped.begin.file == nullptr) continue;
    for (const Site& found : mapped.begin.file->found.sites) {
      const std::uint64_t from_begin = found.offset - mapped.begin.offset, at = begin + from_begin;
      if (from_begin + found.bytes.size() > mapped.length || at < lines.begin() || at >= lines.end()) continue;
      if (!lines.hold(at, found.bytes.size())) continue;
      Site site = found;
      site.address = at;
      visit(site, mapped.begin.file->path);
    }
  }
}

bool CodePatches::patch_memory(host::ProgramMemory& memory, std::uint64_t address, std::uint64_t length) {
  std::vector<std::byte> bytes(length);
  if (!memory.read(address, bytes)) {
    forget(memory, address, length);
    return false;
  }
  Writer writer(memory);
  forget_overwritten(writer, address, bytes);
  show_original(address, bytes);
  const SameLines lines(*this, address, bytes);
  SearchResult found = search_memory(address, bytes);
  constexpr std::uint64_t kLongestInstruction = 15;
  std::erase_if(found.sites, [&](const Site& site) {
    return is_replaced(site.address) || lines.hold(site.address, site.bytes.size());
  });
  std::erase_if(found.doubts, [&](const Doubt& doubt) {
    return is_replaced(doubt.address) || lines.hold(doubt.address, kLongestInstruction);
  });
  each_site_of_file(lines, [&](const Site& site, const std::string& path) {
    if (!is_replaced(site.address)) patch(writer, site, path);
  });
  for (std::uint64_t at = address; at < address + length; at += kLine) {
    if (!lines.hold(at, kLine)) forget_origins(at, kLine);
  }
  const std::size_t before = unpatched_.size();
  for (const Site& site : found.sites) patch(writer, site, "memory");
  const bool is_complete = unpatched_.size() == before && found.doubts.empty();
  unpatched_.resize(before);
  if (!writer.finish()) unpatched_.push_back({protocol::DecidedInstruction::kNone, "memory", address});
  return is_complete;
}

bool CodePatches::is_known(host::ProgramMemory& memory, std::uint64_t address, std::uint64_t length) const {
  std::vector<std::byte> bytes(length);
  if (!memory.read(address, bytes)) return false;
  show_original(address, bytes);
  const SameLines lines(*this, address, bytes);
  bool is_replaced_everywhere = true;
  each_site_of_file(lines, [&](const Site& site, const std::string&) { is_replaced_everywhere &= is_replaced(site.address); });
  if (!is_replaced_everywhere) return false;
  const auto byte = [&](std::size_t at) { return at < length ? std::to_integer<std::uint8_t>(bytes[at]) : std::uint8_t{0}; };
  for (std::size_t at = 0; at < length; ++at) {
    const bool may_be = byte(at) == 0x0f && protocol::is_decided_opcode(byte(at + 1), byte(at + 2));
    constexpr std::size_t kMostBefore = 12;  // an opcode of three bytes in an instruction of fifteen
    const std::uint64_t first = address + at - std::min(at, kMostBefore);
    if (may_be && !is_replaced(address + at) && !lines.hold(first, address + at + 3 - first)) return false;
  }
  return true;
}

void CodePatches::forget(host::ProgramMemory& memory, std::uint64_t address, std::uint64_t length) {
  forget_origins(address, length);
  if (!has_sites(address, address + length)) return;
  Writer writer(memory);
  Sites& sites = own_sites();
  for (auto it = sites.lower_bound(address); it != sites.end() && it->first < address + length; ++it) {
    if (!it->second.active) continue;
    it->second.active = false;
    if (it->second.stub == 0) clear_trap(writer, it->first);
  }
  writer.finish();
}

void CodePatches::forget_overwritten(Writer& writer, std::uint64_t address, std::span<const std::byte> bytes) {
  const std::uint64_t end = address + bytes.size(), first = address < kLongestSite ? 0 : address - kLongestSite;
  if (!has_sites(first, end)) return;
  Sites& sites = own_sites();
  for (auto it = sites.lower_bound(first); it != sites.end() && it->first < end; ++it) {
    auto& [at, patched] = *it;
    const std::uint64_t from = std::max(at, address), to = std::min(at + patched.written.size(), end);
    if (!patched.active || from >= to) continue;
    if (std::memcmp(bytes.data() + (from - address), patched.written.data() + (from - at), to - from) == 0) continue;
    patched.active = false;
    if (patched.stub == 0) clear_trap(writer, at);
  }
}

bool CodePatches::is_replaced(std::uint64_t address) const {
  for (auto it = sites().upper_bound(address); it != sites().begin() && address - (--it)->first < kLongestSite;) {
    if (it->second.active && address - it->first < it->second.written.size()) return true;
  }
  return false;
}

void CodePatches::patch(Writer& writer, const Site& site, const std::string& object) {
  // The memory may differ from the file, for example by another library's hooks.
  const bool as_found = writer.held(site.address, bytes_of(site.bytes));
  if (as_found && patch_by_jump(writer, site)) return;
  PatchedInstruction trapping = site.instruction;
  trapping.length = static_cast<std::uint8_t>(site.length);
  if (as_found && set_trap(writer, site.address, trapping) && writer.write(site.address, make_trap(site))) {
    note_site(site.address, {{site.bytes.begin(), site.bytes.begin() + site.length}, make_trap(site), 0, true});
    ++counts_.traps;
    return;
  }
  unpatched_.push_back({site.instruction.kind, object, site.offset != 0 ? site.offset : site.address});
}

bool CodePatches::patch_by_jump(Writer& writer, const Site& site) {
  if (!jumps_ || site.jump_length == 0) return false;
  if (use_stub_again(writer, site.address, std::span(site.bytes).first(site.jump_length))) return true;
  for (Area& area : areas_) {
    const std::uint64_t at = area.address + area.used;
    const auto stub = make_stub(site, area.address, at);
    if (!stub || area.used + stub->bytes.size() > protocol::kPatchAreaSize) continue;
    if (!area.is_open && !open(writer, area)) return false;
    PatchedInstruction trapping = site.instruction;
    trapping.length = 1;
    if (stub->trap && !set_trap(writer, at + *stub->trap, trapping)) return false;
    const std::vector<std::uint8_t> jump = make_jump(site.address, site.jump_length, at);
    if (!writer.write(at, stub->bytes) || !writer.write(site.address, jump)) return false;
    area.used += (stub->bytes.size() + 15) & ~15ull;
    note_site(site.address, {{site.bytes.begin(), site.bytes.begin() + site.jump_length}, jump, at, true});
    ++counts_.jumps;
    return true;
  }
  return false;
}

// A library that is loaded again at the same address uses its existing stubs.
bool CodePatches::use_stub_again(Writer& writer, std::uint64_t address, std::span<const std::uint8_t> original) {
  if (!sites().contains(address)) return false;
  const auto it = own_sites().find(address);
  if (it->second.stub == 0 || !std::ranges::equal(it->second.original, original)) return false;
  it->second.active = true;
  return writer.write(address, it->second.written);
}

void CodePatches::forget_origins(std::uint64_t address, std::uint64_t length) {
  auto it = mapped_.upper_bound(address);
  if (it != mapped_.begin()) --it;
  while (it != mapped_.end() && it->first < address + length) {
    const auto [begin, mapped] = *it;
    const std::uint64_t end = begin + mapped.length, from = address + length;
    if (end <= address) {
      ++it;
      continue;
    }
    it = mapped_.erase(it);
    // The parts before and after the range stay.
    if (begin < address) mapped_[begin] = {address - begin, mapped.begin};
    if (end > from) mapped_[from] = {end - from, {mapped.begin.file, mapped.begin.offset + (from - begin)}};
  }
}

CodePatches::Origin CodePatches::origin_of(std::uint64_t address) const {
  auto it = mapped_.upper_bound(address);
  if (it == mapped_.begin()) return {};
  const auto& [begin, mapped] = *--it;
  if (address - begin >= mapped.length) return {};
  return {mapped.begin.file, mapped.begin.offset + (address - begin)};
}

std::optional<std::uint64_t> CodePatches::address_of(const FileCode& file, std::uint64_t offset) const {
  for (const auto& [address, mapped] : mapped_) {
    const std::uint64_t from_begin = offset - mapped.begin.offset;
    if (mapped.begin.file == &file && from_begin < mapped.length) return address + from_begin;
  }
  return std::nullopt;
}

bool CodePatches::is_replaced(std::uint64_t address, std::uint64_t length) const {
  for (std::uint64_t i = 0; i < length; ++i) {
    if (is_replaced(address + i)) return true;
  }
  return false;
}

bool CodePatches::replace_call(host::ProgramMemory& memory, std::uint64_t address, const Origin& origin,
                               std::span<const CallSite> calls) {
  const auto is_behind = [](std::uint64_t offset, const CallSite& call) { return offset < call.offset; };
  const auto it = std::upper_bound(calls.begin(), calls.end(), origin.offset, is_behind);
  if (!jumps_ || it == calls.begin()) return false;
  const CallSite& call = *std::prev(it);
  if (call.offset + call.call_at != origin.offset) return false;
  const std::uint64_t begin = address - call.call_at;
  // All bytes must come from this place of the file.
  const std::uint64_t last = call.bytes.size() - 1;
  const Origin from = origin_of(begin), to = origin_of(begin + last);
  if (from.file != origin.file || from.offset != call.offset || to.file != origin.file || to.offset != call.offset + last)
    return false;
  Writer writer(memory);
  const bool done = patch_call(writer, call, begin);
  return writer.finish() && done;
}

void CodePatches::replace_calls(host::ProgramMemory& memory, const FileCode& file, std::span<const CallSite> calls) {
  if (!jumps_) return;
  Writer writer(memory);
  for (const auto& [begin, mapped] : mapped_) {
    if (mapped.begin.file != &file) continue;
    for (const CallSite& call : calls) {
      const std::uint64_t at = call.offset - mapped.begin.offset;
      if (at < mapped.length && call.bytes.size() <= mapped.length - at) patch_call(writer, call, begin + at);
    }
  }
  writer.finish();
}

std::vector<const FileCode*> CodePatches::files() const {
  std::vector<const FileCode*> files;
  for (const auto& [begin, mapped] : mapped_) {
    if (mapped.begin.file != nullptr && std::ranges::find(files, mapped.begin.file) == files.end())
      files.push_back(mapped.begin.file);
  }
  return files;
}

bool CodePatches::patch_call(Writer& writer, const CallSite& found, std::uint64_t address) {
  // The memory may have changed, or contain another library's hook.
  if (!writer.held(address, bytes_of(found.bytes))) return false;
  if (use_stub_again(writer, address, found.bytes)) return true;
  CallSite site = found;
  site.address = address;
  for (Area& area : areas_) {
    const std::uint64_t at = area.address + area.used;
    const auto stub = make_call_stub(site, area.address, at);
    if (!stub || area.used + stub->size() > protocol::kPatchAreaSize) continue;
    const std::vector<std::uint8_t> jump = make_jump(address, site.bytes.size(), at);
    if ((!area.is_open && !open(writer, area)) || !writer.write(at, *stub) || !writer.write(address, jump)) return false;
    area.used += (stub->size() + 15) & ~15ull;
    note_site(address, {site.bytes, jump, at, true});
    ++counts_.calls;
    return true;
  }
  return false;
}

bool CodePatches::trap_jump(host::ProgramMemory& memory, std::uint64_t address, PatchedInstruction jump) {
  std::vector<std::uint8_t> before(jump.length);
  const std::span bytes = std::as_writable_bytes(std::span(before));
  if (origin_of(address).file == nullptr || !memory.read(address, bytes)) return false;
  for (unsigned i = 0; i < jump.length; ++i) {
    if (is_replaced(address + i)) return false;
  }
  Writer writer(memory);
  const std::vector<std::uint8_t> trap{kHlt};
  if (!set_trap(writer, address, jump) || !writer.write(address, trap) || !writer.finish()) return false;
  note_site(address, {{before.front()}, trap, 0, true});
  return true;
}

void CodePatches::release_jump(host::ProgramMemory& memory, std::uint64_t address) {
  // Replacements of instructions whose result depends on the machine stay, whatever the program requests.
  const auto trap = trap_at(address);
  if (!trap || trap->kind != protocol::DecidedInstruction::kLoopJump || !sites().contains(address)) return;
  const auto it = own_sites().find(address);
  if (!it->second.active) return;
  Writer writer(memory);
  if (writer.held(address, bytes_of(it->second.written))) writer.write(address, it->second.original);
  clear_trap(writer, address);
  it->second.active = false;
  writer.finish();
}

void CodePatches::keep_waiting_jumps() { waiting_ = std::make_shared<WaitingJumps>(); }

void CodePatches::note_waiting(std::uint64_t address, PatchedInstruction jump) {
  const Origin origin = origin_of(address);
  if (waiting_ == nullptr || origin.file == nullptr || waiting_->jumps().size() >= WaitingJumps::kMost) return;
  waiting_->jumps().try_emplace(address, WaitingJumps::Jump{origin, jump});
}

void CodePatches::note_not_waiting(std::uint64_t address) {
  if (waiting_ == nullptr) return;
  const auto it = waiting_->jumps().find(address);
  if (it == waiting_->jumps().end() || !it->second.waits) return;
  it->second.waits = it->second.is_done = false;
}

void CodePatches::trap_waiting_jumps(host::ProgramMemory& memory) {
  if (waiting_ == nullptr) return;
  for (auto& [address, jump] : waiting_->jumps()) {
    if (std::exchange(jump.is_done, true)) continue;
    const Origin origin = origin_of(address);
    if (origin.file != jump.origin.file || origin.offset != jump.origin.offset) continue;
    jump.waits ? void(trap_jump(memory, address, jump.instruction)) : release_jump(memory, address);
  }
}

std::uint64_t CodePatches::address_in(std::uint32_t slot) const {
  const auto it = trap_slots_.find(slot);
  return it == trap_slots_.end() ? 0 : it->second;
}

std::uint32_t CodePatches::trap_slot(std::uint64_t address) const {
  const bool known = traps_.contains(address);
  std::uint32_t slot = protocol::first_trap_slot(address, trap_entries_);
  while (known ? address_in(slot) != address : address_in(slot) > kClearedSlot) slot = (slot + 1) % trap_entries_;
  return slot;
}

bool CodePatches::write_trap(Writer& writer, std::uint32_t slot, std::uint64_t address, std::uint32_t instruction) {
  trap_slots_[slot] = address;
  const protocol::TrapEntry entry{address, instruction, 0};
  return writer.write(protocol::kPatchDataAddress + offsetof(protocol::PatchData, traps) + slot * sizeof entry,
                      std::as_bytes(std::span(&entry, 1)));
}

// Enlarges the table to its full size and rehashes all traps.
bool CodePatches::use_many_traps(Writer& writer) {
  bool all = true;
  constexpr std::uint32_t kMany = 1;
  all &= writer.write(protocol::kPatchDataAddress + offsetof(protocol::PatchData, has_many_traps),
                      std::as_bytes(std::span(&kMany, 1)));
  for (const auto& [slot, address] : std::exchange(trap_slots_, {})) all &= write_trap(writer, slot, 0, 0);
  trap_slots_.clear();
  trap_entries_ = protocol::kTrapEntries;
  for (const auto& [address, instruction] : std::exchange(traps_, {})) {
    all &= write_trap(writer, trap_slot(address), address, instruction);
    traps_[address] = instruction;
  }
  return all;
}

bool CodePatches::set_trap(Writer& writer, std::uint64_t address, PatchedInstruction instruction) {
  // Cleared slots count: they lengthen probe sequences too.
  const bool is_full = trap_slots_.size() >= trap_entries_ / 4 * 3;
  if (is_full && trap_entries_ == protocol::kFewTrapEntries && !use_many_traps(writer)) return false;
  if (traps_.size() >= trap_entries_ / 4 * 3) return false;
  const std::uint32_t slot = trap_slot(address);
  traps_[address] = instruction.word();
  return write_trap(writer, slot, address, instruction.word());
}

void CodePatches::clear_trap(Writer& writer, std::uint64_t address) {
  if (!traps_.contains(address)) return;
  const std::uint32_t slot = trap_slot(address);
  traps_.erase(address);
  write_trap(writer, slot, kClearedSlot, 0);
}

std::optional<PatchedInstruction> CodePatches::trap_at(std::uint64_t address) const {
  const auto it = traps_.find(address);
  if (it == traps_.end()) return std::nullopt;
  return PatchedInstruction::of(it->second);
}

void CodePatches::note_site(std::uint64_t address, Patched patched) {
  for (std::uint64_t at = address / kLine; at <= (address + patched.written.size() - 1) / kLine; ++at)
    patched_lines_.set(at % patched_lines_.size());
  own_sites()[address] = std::move(patched);
}

bool CodePatches::may_be_patched(std::uint64_t address, std::uint64_t length) const {
  const std::uint64_t first = address / kLine, last = (address + length - 1) / kLine;
  if (length == 0 || last - first >= patched_lines_.size()) return length != 0;
  for (std::uint64_t at = first; at <= last; ++at) {
    if (patched_lines_.test(at % patched_lines_.size())) return true;
  }
  return false;
}

void CodePatches::show_original(std::uint64_t address, std::span<std::byte> bytes) const {
  if (!may_be_patched(address, bytes.size())) return;
  const std::uint64_t end = address + bytes.size();
  for (auto it = sites().lower_bound(address < kLongestSite ? 0 : address - kLongestSite); it != sites().end() && it->first < end;
       ++it) {
    const auto& [at, patched] = *it;
    const std::uint64_t from = std::max(at, address), to = std::min(at + patched.written.size(), end);
    if (!patched.active || from >= to) continue;
    std::byte* const here = bytes.data() + (from - address);
    // The memory may have changed.
    if (std::memcmp(here, patched.written.data() + (from - at), to - from) == 0)
      std::memcpy(here, patched.original.data() + (from - at), to - from);
  }
}

}  // namespace verbatim::code
