// Bytes of reads and writes between files and program memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/supervisor/kernel/call_context.h"
#include "sim/supervisor/kernel/call_failures.h"
#include "sim/supervisor/kernel/program_output.h"
#include "sim/supervisor/net/socket.h"

namespace verbatim::supervisor {

inline constexpr std::uint64_t kMaxTransfer = 0x7ffff000;  // MAX_RW_COUNT of Linux
inline constexpr std::size_t kChunk = 1 << 20;  // maximum bytes moved by one try of a read or write

// Addresses and lengths of an iovec in program memory.
struct Buffers {
  struct Part {
    std::uint64_t address;
    std::uint64_t length;
  };
  std::vector<Part> parts;
  std::uint64_t length = 0;

  Buffers() = default;
  // One buffer.
  Buffers(std::uint64_t address, std::uint64_t length) : parts{{address, length}}, length(length) {}
  // These buffers without their first `offset` bytes.
  Buffers behind(std::uint64_t offset) const;
};

// Reads an iovec. nullopt: it is not mapped or too long.
std::optional<Buffers> load_vector(CallContext& call, std::uint64_t address, std::uint64_t count);
// Appends at most `limit` bytes. `once`: the bytes are a command, and count as an argument of the call.
// False: not mapped.
bool gather(CallContext& call, const Buffers& from, std::uint64_t limit, std::vector<std::byte>& bytes,
            bool once = false);
bool scatter(Process& process, const Buffers& to, std::span<const std::byte> bytes);

// Flags, destination and descriptors of one message (sendmsg(2)).
struct Sending {
  int flags = 0;
  std::vector<std::byte> to;
  std::vector<PassedFile> files;
};

CallOutcome read_into(CallContext& call, CallFailures& failures, const VirtualFilePtr& file,
                      const Buffers& to);
CallOutcome write_from(CallContext& call, CallFailures& failures, const ProgramOutput& output,
                       const VirtualFilePtr& file, const Buffers& from);
// Sends one message, or bytes of a stream.
CallOutcome send_from(CallContext& call, CallFailures& failures, const std::shared_ptr<Socket>& socket,
                      const Buffers& from, const Sending& sending);

}  // namespace verbatim::supervisor
