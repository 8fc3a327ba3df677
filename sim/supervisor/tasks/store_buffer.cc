#include "sim/supervisor/tasks/store_buffer.h"

#include <algorithm>

#include "sim/supervisor/spin/interpreter.h"
#include "sim/supervisor/tasks/analysed_memory.h"
#include "sim/supervisor/tasks/process.h"
#include "sim/supervisor/tasks/vector_context.h"

namespace verbatim::supervisor {

namespace {

constexpr int kMostInstructions = 64;
constexpr std::size_t kMostLoads = 4;
constexpr unsigned kPages = 64;
constexpr std::size_t kLongestInstruction = 15;

// Code without replaced instructions and without the traps of access sites.
class CodeWithoutTraps final : public spin::CodeMemory {
 public:
  CodeWithoutTraps(Process& process, const AccessFile& file)
      : memory_(process.memory(), *process.patches()), patches_(*process.patches()), file_(file) {}

  bool read(std::uint64_t address, void* to, std::size_t n) override {
    if (!memory_.read(address, to, n)) return false;
    const code::CodePatches::Origin origin = patches_.origin_of(address);
    if (origin.file != &file_.file) return true;
    auto* const bytes = static_cast<std::uint8_t*>(to);
    for (auto it = std::ranges::lower_bound(file_.sites, origin.offset, {}, &code::AccessSite::offset);
         it != file_.sites.end() && it->offset - origin.offset < n; ++it) {
      bytes[it->offset - origin.offset] = it->place.original;
    }
    return true;
  }

 private:
  AnalysedMemory memory_;
  const code::CodePatches& patches_;
  const AccessFile& file_;
};

}  // namespace

std::vector<std::uint64_t> find_loads_behind_store(Process& process, std::uint64_t context, std::uint64_t fs_base,
                                                   const AccessFile& file) {
  const auto saved = SavedContext::read(process.memory(), context);
  if (!saved) return {};
  CodeWithoutTraps memory(process, file);
  spin::MemoryView view;
  view.begin(memory, kPages);
  spin::CodeCache code;
  code.begin();
  spin::Interpreter thread(code, view);
  thread.state.registers = spin::from_context(saved->general, fs_base);
  thread.state.vectors = VectorContext(process.memory(), saved->floating).registers();
  std::vector<std::uint64_t> found;
  // The first instruction is the store itself.
  for (int i = 0; i < kMostInstructions && found.size() < kMostLoads && thread.step(); ++i) {
    const std::uint64_t at = thread.state.registers.rip;
    const code::CodePatches::Origin origin = process.patches()->origin_of(at);
    std::byte bytes[kLongestInstruction];
    if (origin.file != &file.file || !memory.read(at, bytes, sizeof bytes)) break;
    const std::size_t length = code::length_if_stores_wait(bytes);
    if (length == 0) break;
    const auto site = std::ranges::lower_bound(file.sites, origin.offset, {}, &code::AccessSite::offset);
    if (site == file.sites.end() || site->offset != origin.offset) continue;  // no access to shared memory
    if (!site->only_loads) break;
    found.push_back(at + length);
  }
  view.end();
  return found;
}

}  // namespace verbatim::supervisor
