// Reads of certain bytes after a loop: the code is interpreted from the loop on until an instruction reads
// one of them.
#include <algorithm>

#include "sim/supervisor/spin/spin_prover.h"

namespace verbatim::spin {

namespace {

class ReadWatcher final : public Observer {
 public:
  ReadWatcher(const MemoryRange& range, std::span<const ByteRun> known) : range_(range), known_(known) {}

  bool follow(const Instruction& in, const MachineState&, std::uint64_t address) override {
    const bool changes = is_memory(in.destination) && in.op != Op::kMov && in.op != Op::kSetcc && in.op < Op::kVectorMove;
    if (!is_memory(in.source) && !is_memory(in.source2) && !changes) return true;
    if (in.op == Op::kLea) return true;
    const unsigned size = in.op == Op::kMov || in.op == Op::kMovsx ? in.source_size : in.size;
    return !reads_another(address, size);
  }

 private:
  bool reads_another(std::uint64_t address, unsigned size) const {
    const std::uint64_t begin = std::max(address, range_.address);
    const std::uint64_t end = std::min(address + size, range_.address + range_.length);
    for (std::uint64_t byte = begin; byte < end; ++byte) {
      const auto holds = [byte](const ByteRun& run) { return byte >= run.address && byte - run.address < run.bytes.size(); };
      if (std::ranges::none_of(known_, holds)) return true;
    }
    return false;
  }

  const MemoryRange range_;
  const std::span<const ByteRun> known_;
};

}  // namespace

std::optional<std::uint64_t> SpinProver::find_read(const Registers& start, const VectorRegisters& vectors, CodeMemory& memory,
                                                   const Limits& limits, const MemoryRange& code, const MemoryRange& range,
                                                   std::span<const ByteRun> known) {
  clock_.begin(nullptr);
  follows_growth_ = false;
  const Analysis analysis(*this, start, memory, limits);
  interpreter_.allows_floating = false;
  interpreter_.state.vectors = vectors;
  ReadWatcher watcher(range, known);
  return refused_by(watcher, limits, code);
}

}  // namespace verbatim::spin
