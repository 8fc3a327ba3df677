#include "sim/supervisor/vfork_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/core/open_file.h"
#include "sim/supervisor/machine/input_stream.h"
#include "sim/supervisor/process_fields.h"
#include "sim/supervisor/process_list.h"

namespace verbatim::supervisor {

namespace {

struct Variables {
  std::vector<spin::MemoryRange> program;  // .data and .bss of the executable
  // Heap state of libc (.data) and the heap itself: copied together or not at all. libc's .bss, which holds
  // the heap's end, and per-thread data stay the parent's.
  std::vector<spin::MemoryRange> libraries, heap;
};
Variables variables_of(Process& process) {
  const std::string folder = fmt::format("/proc/{}", process.native_pid());
  std::error_code error;
  const std::string program = std::filesystem::read_symlink(folder + "/exe", error);
  Variables variables;
  std::uint64_t end_of_program = 0;
  InputStream maps(folder + "/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::uint64_t start = number_of(line, 16), end = number_of(line.substr(line.find('-') + 1), 16);
    const std::string_view flags = std::string_view(line).substr(line.find(' ') + 1, 4);
    const bool anonymous = line.find('/') == std::string::npos && line.find('[') == std::string::npos;
    const bool own = line.ends_with(" " + program) || (anonymous && start == end_of_program);  // .data, .bss
    if (own) end_of_program = end;
    if (flags != "rw-p") continue;
    const spin::MemoryRange range{start, static_cast<std::size_t>(end - start)};
    if (own) variables.program.push_back(range);
    if (line.ends_with("[heap]")) variables.heap.push_back(range);
    if (!own && line.substr(line.rfind('/') + 1).starts_with("libc.so")) variables.libraries.push_back(range);
  }
  return variables;
}

// Copies the child's writes to program variables back to the parent. Nobody else has written to the parent's
// variables meanwhile, so a page that the child has of its own differs by the child's writes alone. If the
// child has grown the heap, heap and libc state are not copied.
void return_variables(Process& child, Process& parent) {
  constexpr std::uint64_t kPage = 4096, kPresent = 1ull << 63, kOfOneProcess = 1ull << 56;
  const int pages = open_file(fmt::format("/proc/{}/pagemap", child.native_pid()), O_RDONLY | O_CLOEXEC);
  Variables variables = variables_of(child);
  std::vector<spin::MemoryRange>& ranges = variables.program;
  if (variables.heap == variables_of(parent).heap) {
    ranges.insert(ranges.end(), variables.libraries.begin(), variables.libraries.end());
    ranges.insert(ranges.end(), variables.heap.begin(), variables.heap.end());
  }
  for (const spin::MemoryRange& range : ranges) {
    std::vector<std::uint64_t> states(range.length / kPage, kOfOneProcess);
    // A page whose state cannot be read counts as written; the comparison of the bytes decides.
    if (pread(pages, states.data(), states.size() * 8, static_cast<off_t>(range.address / kPage * 8)) < 0)
      std::ranges::fill(states, kOfOneProcess);
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (states[i] == 0 || (states[i] & (kPresent | kOfOneProcess)) == kPresent) continue;
      const std::uint64_t at = range.address + i * kPage;
      std::array<std::byte, kPage> own, theirs;
      if (!child.memory().read(at, own) || !parent.memory().read(at, theirs)) continue;
      if (own != theirs) parent.memory().write(at, own);
    }
  }
  if (pages >= 0) close(pages);
}

}  // namespace

void return_memory(Process& child, const ProcessList& processes) {
  Process* const parent =
      child.family().holds_parent && child.family().shares_memory ? processes.parent_of(child) : nullptr;
  if (parent == nullptr) return;
  const auto lives = [](const auto& thread) { return thread->state() != Thread::State::kDead; };
  if (!parent->devices().has_own() && std::ranges::count_if(parent->threads(), lives) == 1)
    return_variables(child, *parent);
  for (const auto& thread : parent->threads()) {
    if (thread->state() == Thread::State::kDead || thread->call().copy_pid != child.pid()) continue;
    const std::uint64_t context = parent->region().slot(thread->slot()).context_address;
    const std::uint64_t at = context + offsetof(ucontext_t, uc_mcontext.gregs) + REG_RSP * sizeof(greg_t);
    const auto stack_pointer = parent->memory().load<std::uint64_t>(at);
    if (context == 0 || !stack_pointer) return;
    constexpr std::uint64_t kPage = 4096, kPages = 4;
    std::uint64_t from = *stack_pointer;
    for (std::uint64_t page = 0; page < kPages; ++page) {
      const std::uint64_t end = (from / kPage + 1) * kPage;
      std::vector<std::byte> own(end - from), theirs(end - from);
      if (!child.memory().read(from, own) || !parent->memory().read(from, theirs)) return;
      if (own != theirs) parent->memory().write(from, own);
      from = end;
    }
    return;
  }
}

}  // namespace verbatim::supervisor
