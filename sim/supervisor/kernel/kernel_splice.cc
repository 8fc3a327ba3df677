// splice, tee and vmsplice. Bytes are copied where Linux moves pages; a pipe may need fewer pages for them. The
// runtime reads and writes the bytes of real files (Action::kSpliceFile).
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "sim/supervisor/files/pipe.h"
#include "sim/supervisor/kernel/file_calls.h"
#include "sim/supervisor/kernel/real_descriptors.h"

namespace verbatim::supervisor {

namespace {

constexpr std::int64_t kFlags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK | SPLICE_F_MORE | SPLICE_F_GIFT;

struct SpliceEnd {
  VirtualFilePtr file;   // nullptr: a real file
  Pipe* pipe = nullptr;  // nullptr: another file
  bool is_nonblocking = false;
  bool is_spliced = false;  // false: EINVAL
};

// `mode`: how the end is used, O_RDONLY or O_WRONLY. nullopt and -errno.
std::optional<SpliceEnd> end_of(CallContext& call, int argument, int mode, int* error) {
  SpliceEnd end{.file = call.file(argument)};
  *error = -EBADF;
  if (end.file == nullptr && !call.process.files().natively_usable(call.as_int(argument))) return std::nullopt;
  const int own =
      end.file == nullptr ? native_access_mode(call.process, call.as_int(argument)) : end.file->access_mode();
  if (own != O_RDWR && own != mode) return std::nullopt;
  if (end.file == nullptr) {
    const unsigned type = native_type(call.process, call.as_int(argument));
    end.is_spliced = type == S_IFREG || type == S_IFCHR;
    return end;
  }
  end.pipe = end.file->as_pipe();
  end.is_nonblocking = end.file->nonblocking();
  end.is_spliced = end.pipe != nullptr || (S_ISSOCK(end.file->mode()) && !end.file->keeps_boundaries());
  return end;
}

// The error of an end's offset, which pipes and sockets have none of; 0: none.
int check_offset(CallContext& call, int argument, const SpliceEnd& end) {
  if (call.address(argument) == 0) return 0;
  if (end.pipe != nullptr) return -ESPIPE;
  if (!call.process.memory().load<std::int64_t>(call.address(argument))) return -EFAULT;
  return end.file != nullptr ? -EINVAL : 0;
}

Answer broken_pipe() { return {-EPIPE, protocol::Action::kRaise, {SIGPIPE, 0}}; }

// Waits until the pipe has room. nullopt: it has.
std::optional<CallOutcome> await_room(CallContext& call, const SpliceEnd& to, bool dont_wait) {
  if (to.pipe->readers == 0) return broken_pipe();
  if (!to.pipe->full()) return std::nullopt;
  return call.wait_or_give_up({to.file}, dont_wait, Duration::zero(), "splice");
}

CallOutcome from_pipe(CallContext& call, const SpliceEnd& from, const SpliceEnd& to, bool dont_wait) {
  std::uint64_t& done = call.transferred;
  std::vector<std::byte> bytes;
  from.pipe->peek(std::min<std::uint64_t>(call.length(4) - done, kChunk), bytes);
  if (bytes.empty()) {
    if (done > 0 || from.pipe->writers == 0) return Answer{static_cast<std::int64_t>(done)};
    return call.wait_or_give_up({from.file}, dont_wait, Duration::zero(), "splice");
  }
  if (to.file == nullptr) return Answer{static_cast<std::int64_t>(bytes.size()), protocol::Action::kSpliceFile};
  if (to.pipe != nullptr) {
    if (auto outcome = await_room(call, to, dont_wait)) return *outcome;
    bytes.resize(std::min(bytes.size(), to.pipe->room()));
    from.pipe->drop(bytes.size());
    return Answer{*to.pipe->write(bytes)};
  }
  VirtualFilePtr wait_for = to.file;
  const IoResult n = to.file->write_by(call.process, bytes, wait_for);
  if (n && *n <= 0) {
    if (done > 0) return Answer{static_cast<std::int64_t>(done)};
    return *n == -EPIPE ? broken_pipe() : Answer{*n};
  }
  if (n) {
    from.pipe->drop(static_cast<std::size_t>(*n));
    done += static_cast<std::uint64_t>(*n);
    if (static_cast<std::size_t>(*n) == bytes.size()) return from_pipe(call, from, to, true);
  }
  std::vector<VirtualFilePtr> waits = {to.file};
  if (wait_for != to.file) waits.push_back(std::move(wait_for));
  return call.wait_or_give_up(std::move(waits), to.is_nonblocking, to.file->write_timeout, "splice");
}

CallOutcome to_pipe(CallContext& call, const SpliceEnd& from, const SpliceEnd& to, bool dont_wait) {
  if (auto outcome = await_room(call, to, dont_wait)) return *outcome;
  const std::uint64_t limit = std::min<std::uint64_t>({call.length(4), to.pipe->room(), kChunk});
  if (from.file == nullptr) return Answer{static_cast<std::int64_t>(limit), protocol::Action::kSpliceFile};
  std::vector<std::byte> bytes;
  const IoResult n = from.file->read(limit, bytes);
  if (!n) return call.wait_or_give_up({from.file}, from.is_nonblocking, from.file->read_timeout, "splice");
  return Answer{*n <= 0 ? *n : *to.pipe->write(bytes)};
}

}  // namespace

// The order of checks is that of Linux.
CallOutcome sys_splice(CallContext& call) {
  if (call.length(4) == 0) return Answer{0};
  if ((call.flags(5) & ~kFlags) != 0) return Answer{-EINVAL};
  int error = 0;
  const auto from = end_of(call, 0, O_RDONLY, &error);
  if (!from) return Answer{error};
  const auto to = end_of(call, 2, O_WRONLY, &error);
  if (!to) return Answer{error};
  for (const auto& [argument, end] : {std::pair(1, &*from), std::pair(3, &*to)}) {
    if ((error = check_offset(call, argument, *end)) != 0) return Answer{error};
  }
  if (from->pipe == to->pipe) return Answer{-EINVAL};  // no pipe, or one
  if (!from->is_spliced || !to->is_spliced) return Answer{-EINVAL};
  bool dont_wait = (call.flags(5) & SPLICE_F_NONBLOCK) != 0;
  for (const SpliceEnd* const end : {&*from, &*to}) dont_wait = dont_wait || (end->pipe != nullptr && end->is_nonblocking);
  return from->pipe != nullptr ? from_pipe(call, *from, *to, dont_wait) : to_pipe(call, *from, *to, dont_wait);
}

CallOutcome sys_tee(CallContext& call) {
  if ((call.flags(3) & ~kFlags) != 0) return Answer{-EINVAL};
  if (call.length(2) == 0) return Answer{0};
  int error = 0;
  const auto from = end_of(call, 0, O_RDONLY, &error);
  if (!from) return Answer{error};
  const auto to = end_of(call, 1, O_WRONLY, &error);
  if (!to) return Answer{error};
  if (from->pipe == nullptr || to->pipe == nullptr || from->pipe == to->pipe) return Answer{-EINVAL};
  const bool dont_wait = (call.flags(3) & SPLICE_F_NONBLOCK) != 0 || from->is_nonblocking || to->is_nonblocking;
  std::vector<std::byte> bytes;
  from->pipe->peek(std::min<std::uint64_t>(call.length(2), kChunk), bytes);
  if (bytes.empty()) {
    if (from->pipe->writers == 0) return Answer{0};
    return call.wait_or_give_up({from->file}, dont_wait, Duration::zero(), "tee");
  }
  if (auto outcome = await_room(call, *to, dont_wait)) return *outcome;
  bytes.resize(std::min(bytes.size(), to->pipe->room()));
  return Answer{*to->pipe->write(bytes)};
}

CallOutcome sys_vmsplice(CallContext& call) {
  if ((call.flags(3) & ~kFlags) != 0) return Answer{-EINVAL};
  const VirtualFilePtr file = call.file(0);
  Pipe* const pipe = file == nullptr ? nullptr : file->as_pipe();
  if (pipe == nullptr) return Answer{-EBADF};
  if (call.length(2) > IOV_MAX) return Answer{-EINVAL};
  const auto buffers = load_vector(call, call.address(1), call.length(2));
  if (!buffers) return Answer{-EFAULT};
  if (buffers->length == 0) return Answer{0};
  const bool dont_wait = (call.flags(3) & SPLICE_F_NONBLOCK) != 0 || file->nonblocking();
  std::vector<std::byte> bytes;
  if (file->access_mode() != O_RDONLY) {
    if (auto outcome = await_room(call, SpliceEnd{file, pipe}, dont_wait)) return *outcome;
    const std::uint64_t limit = std::min<std::uint64_t>({buffers->length, pipe->room(), kChunk});
    if (!gather(call, *buffers, limit, bytes)) return Answer{-EFAULT};
    return Answer{*pipe->write(bytes)};
  }
  const IoResult n = file->read(std::min<std::uint64_t>(buffers->length, kChunk), bytes);
  if (!n) return call.wait_or_give_up({file}, dont_wait, Duration::zero(), "vmsplice");
  return Answer{scatter(call.process, *buffers, bytes) ? *n : -EFAULT};
}

}  // namespace verbatim::supervisor
