#include "sim/supervisor/kernel/transfers.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "sim/supervisor/files/terminal.h"
#include "sim/supervisor/kernel/checks.h"
#include "sim/supervisor/kernel/terminals.h"

namespace verbatim::supervisor {

namespace {
constexpr std::uint64_t kMaxVector = 1024;
}  // namespace

Buffers Buffers::behind(std::uint64_t offset) const {
  Buffers rest;
  rest.length = length - offset;
  for (auto part : parts) {
    const std::uint64_t skipped = std::min(part.length, offset);
    offset -= skipped;
    part.address += skipped;
    part.length -= skipped;
    rest.parts.push_back(part);
  }
  return rest;
}

std::optional<Buffers> load_vector(CallContext& call, std::uint64_t address, std::uint64_t count) {
  static_assert(sizeof(Buffers::Part) == sizeof(iovec));
  Buffers buffers;
  if (count > kMaxVector) return std::nullopt;
  buffers.parts.resize(count);
  if (count > 0 && !call.read_argument(address, std::as_writable_bytes(std::span(buffers.parts))))
    return std::nullopt;
  for (const Buffers::Part& part : buffers.parts) buffers.length += std::min(part.length, kMaxTransfer);
  buffers.length = std::min(buffers.length, kMaxTransfer);
  return buffers;
}

bool gather(CallContext& call, const Buffers& from, std::uint64_t limit, std::vector<std::byte>& bytes,
            bool once) {
  ProcessMemory& memory = call.process.memory();
  for (const Buffers::Part& part : from.parts) {
    const std::uint64_t n = std::min(part.length, limit - bytes.size());
    const std::size_t at = bytes.size();
    bytes.resize(at + n);
    const auto to = std::span(bytes).subspan(at, n);
    if (n > 0 && !(once ? call.read_argument(part.address, to) : memory.read(part.address, to))) return false;
  }
  return true;
}

bool scatter(Process& process, const Buffers& to, std::span<const std::byte> bytes) {
  for (const Buffers::Part& part : to.parts) {
    const std::size_t n = std::min<std::uint64_t>(part.length, bytes.size());
    if (n > 0 && !process.memory().put(part.address, bytes.first(n))) return false;
    bytes = bytes.subspan(n);
  }
  return true;
}

CallOutcome read_into(CallContext& call, CallFailures& failures, const VirtualFilePtr& file,
                      const Buffers& to) {
  if (file->as_terminal() != nullptr)
    return read_terminal(call, std::static_pointer_cast<TerminalFile>(file), to);
  std::vector<std::byte> bytes;
  const std::uint64_t wanted = std::min<std::uint64_t>(to.length, kChunk);
  const std::uint64_t limit = failures.readable_now(call.thread, *file, wanted, file->nonblocking(), false);
  if (limit < wanted && limit == 0) return Answer{-EAGAIN};
  const IoResult n = file->read(limit, bytes);
  if (!n) return call.wait_or_give_up({file}, file->nonblocking(), file->read_timeout, "read");
  // An error may accompany bytes: for a management datagram that is too long, the header holds the needed
  // length.
  if (!bytes.empty() && !scatter(call.process, to, bytes)) return Answer{-EFAULT};
  call.services.checks.after_read(call.thread, file, call.now());
  return Answer{*n};
}

namespace {

// `send` writes the bytes, and sets the file to wait for if it is another one.
template <class Send>
CallOutcome write_with(CallContext& call, CallFailures& failures, const ProgramOutput& output,
                       const VirtualFilePtr& file, const Buffers& from, const Sending& sending, Send send) {
  std::uint64_t& done = call.transferred;
  const Buffers rest = from.behind(done);
  const bool dont_wait = (sending.flags & MSG_DONTWAIT) != 0 || file->nonblocking();
  const std::uint64_t wanted = std::min<std::uint64_t>(rest.length, kChunk);
  const std::uint64_t limit =
      sending.files.empty() ? failures.writable_now(call.thread, *file, wanted, dont_wait) : wanted;
  if (limit < wanted && limit == 0) return Answer{done > 0 ? static_cast<std::int64_t>(done) : -EAGAIN};
  std::vector<std::byte> bytes;
  if (!gather(call, rest, limit, bytes, file->takes_commands())) return Answer{-EFAULT};
  if (const int stream = file->output_stream(); stream != 0) {
    output(call.process, stream, bytes);
    return Answer{static_cast<std::int64_t>(bytes.size())};
  }
  if (TerminalFile* const end = file->as_terminal();
      end != nullptr && end->terminal().stops_background_output()) {
    if (auto refused = keep_in_background(call, end->terminal(), SIGTTOU)) return *refused;
  }
  VirtualFilePtr wait_for = file;
  const IoResult n = send(bytes, wait_for);
  std::vector<VirtualFilePtr> waits = {file};
  if (wait_for != file) waits.push_back(std::move(wait_for));
  if (!n) return call.wait_or_give_up(std::move(waits), dont_wait, file->write_timeout, "write");
  if (*n < 0 && done > 0) return Answer{static_cast<std::int64_t>(done)};
  if (*n > 0) {
    done += static_cast<std::uint64_t>(*n);
    // A blocking write returns when everything is written.
    if (!file->keeps_boundaries() && done < from.length) {
      return call.wait_or_give_up(std::move(waits), dont_wait, file->write_timeout, "write");
    }
    return Answer{static_cast<std::int64_t>(done)};
  }
  if (*n == -EPIPE && (sending.flags & MSG_NOSIGNAL) == 0)
    return Answer{*n, protocol::Action::kRaise, {SIGPIPE, 0}};
  return Answer{*n};
}

}  // namespace

CallOutcome write_from(CallContext& call, CallFailures& failures, const ProgramOutput& output,
                       const VirtualFilePtr& file, const Buffers& from) {
  return write_with(call, failures, output, file, from, {},
                    [&](std::span<const std::byte> bytes, VirtualFilePtr& wait_for) {
                      return file->write_by(call.process, bytes, wait_for);
                    });
}

CallOutcome send_from(CallContext& call, CallFailures& failures, const std::shared_ptr<Socket>& socket,
                      const Buffers& from, const Sending& sending) {
  const bool has_begun = call.transferred > 0;
  const auto send = [&](std::span<const std::byte> bytes, VirtualFilePtr& wait_for) {
    OutgoingMessage message{bytes, sending.to, {}, nullptr, (sending.flags & MSG_MORE) != 0};
    if (!has_begun) message.files = sending.files;
    const IoResult result = socket->send(call.process, message);
    if (message.wait_for != nullptr) wait_for = message.wait_for;
    return result;
  };
  return write_with(call, failures, {}, socket, from, sending, send);
}

}  // namespace verbatim::supervisor
