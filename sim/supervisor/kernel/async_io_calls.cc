// Asynchronous I/O: io_setup(2) and related calls.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "sim/supervisor/files/counter_files.h"
#include "sim/supervisor/kernel/async_io.h"
#include "sim/supervisor/kernel/async_io_calls.h"
#include "sim/supervisor/kernel/real_descriptors.h"
#include "sim/supervisor/kernel/transfers.h"
#include "sim/supervisor/kernel/wait_calls.h"
#include "verbs_shim/protocol/async_io.h"

namespace verbatim::supervisor {

namespace {

constexpr std::uint32_t kMostRequests = 65'536;  // fs.aio-max-nr
constexpr std::size_t kRequestBytes = 1 << 20;   // maximum bytes moved by one request on a simulated file

bool is_poll(const iocb& request) { return request.aio_lio_opcode == IOCB_CMD_POLL; }
bool is_sync(const iocb& request) {
  return request.aio_lio_opcode == IOCB_CMD_FSYNC || request.aio_lio_opcode == IOCB_CMD_FDSYNC;
}
bool is_read(const iocb& request) {
  return request.aio_lio_opcode == IOCB_CMD_PREAD || request.aio_lio_opcode == IOCB_CMD_PREADV;
}
bool has_vector(const iocb& request) {
  return request.aio_lio_opcode == IOCB_CMD_PREADV || request.aio_lio_opcode == IOCB_CMD_PWRITEV;
}

// 0 or the error with which Linux rejects the request.
int check(const iocb& request, bool is_real) {
  if (request.aio_reserved2 != 0) return -EINVAL;
  switch (request.aio_lio_opcode) {
    case IOCB_CMD_PREAD:
    case IOCB_CMD_PWRITE:
    case IOCB_CMD_PREADV:
    case IOCB_CMD_PWRITEV:
      if (static_cast<std::int64_t>(request.aio_nbytes) < 0 || request.aio_offset < 0) return -EINVAL;
      if (has_vector(request) && request.aio_nbytes > 1024) return -EINVAL;  // UIO_MAXIOV
      return (request.aio_rw_flags & ~(RWF_HIPRI | RWF_DSYNC | RWF_SYNC | RWF_NOWAIT)) != 0 ? -EOPNOTSUPP : 0;
    case IOCB_CMD_FSYNC:
    case IOCB_CMD_FDSYNC:
      if (request.aio_buf != 0 || request.aio_offset != 0 || request.aio_nbytes != 0 ||
          request.aio_rw_flags != 0)
        return -EINVAL;
      return is_real ? 0 : -EINVAL;
    case IOCB_CMD_POLL:
      if (request.aio_buf > 0xffff || request.aio_offset != 0 || request.aio_nbytes != 0 ||
          request.aio_rw_flags != 0)
        return -EINVAL;
      return 0;
    default:
      return -EINVAL;
  }
}

// Set once the call has written aio_key into the iocb.
struct KeyWritten {};

protocol::Transfer transfer_of(const iocb& request) {
  protocol::Transfer transfer{};
  const auto fd = static_cast<std::int32_t>(request.aio_fildes);
  const auto buffer = static_cast<std::int64_t>(request.aio_buf),
             length = static_cast<std::int64_t>(request.aio_nbytes);
  const auto set = [&](std::int64_t number, std::initializer_list<std::int64_t> arguments) {
    transfer.number = number;
    std::ranges::copy(arguments, transfer.arguments);
  };
  if (is_sync(request)) {
    set(request.aio_lio_opcode == IOCB_CMD_FSYNC ? SYS_fsync : SYS_fdatasync, {fd});
  } else if (has_vector(request)) {
    set(is_read(request) ? SYS_preadv2 : SYS_pwritev2,
        {fd, buffer, length, request.aio_offset, 0, request.aio_rw_flags});
  } else {
    set(is_read(request) ? SYS_pread64 : SYS_pwrite64, {fd, buffer, length, request.aio_offset});
  }
  return transfer;
}

struct AsyncRequest {
  iocb control{};
  AsyncOrigin origin;
  VirtualFilePtr file;  // nullptr: a real file
};

std::shared_ptr<AsyncContext> async_context(CallContext& call, std::int64_t id) {
  const auto& contexts = call.host.async_contexts;
  const auto found = contexts.find({call.process.pid(), id});
  return found == contexts.end() ? nullptr : found->second;
}

}  // namespace

void end_async_contexts(HostKernel& host, Process& process) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  auto& contexts = host.async_contexts;
  auto it = contexts.lower_bound({process.pid(), kLeast});
  while (it != contexts.end() && it->first.first == process.pid()) {
    it->second->end();
    it = contexts.erase(it);
  }
}

// arguments[2]: the page that the runtime has mapped; its address is the context id.
CallOutcome sys_io_setup(CallContext& call) {
  const auto& a = call.arguments;
  Process& process = call.process;
  const auto address = call.address(1);
  const auto requests = call.as_u32(0);
  const auto before = process.memory().load<std::uint64_t>(address);
  if (!before) return Answer{-EFAULT};
  if (*before != 0 || requests == 0) return Answer{-EINVAL};
  if (requests > 0x10000000u / sizeof(io_event) / 2) return Answer{-EINVAL};
  if (requests > kMostRequests) return Answer{-EAGAIN};
  if (!process.memory().store(address, a[2])) return Answer{-EFAULT};
  call.host.async_contexts[{process.pid(), a[2]}] =
      std::make_shared<AsyncContext>(call.services.engine, process.host().component, requests);
  return Answer{0};
}

CallOutcome sys_io_destroy(CallContext& call) {
  Process& process = call.process;
  const std::int64_t id = call.arguments[0];
  const auto context = async_context(call, id);
  if (context == nullptr) return Answer{-EINVAL};
  context->end();
  call.host.async_contexts.erase({process.pid(), id});
  return Answer{0};
}

namespace {

// Loads the request at `address`; 0 or -errno.
std::int64_t load_request(CallContext& call, std::uint64_t address, AsyncRequest& request) {
  Process& process = call.process;
  const auto control = call.load_argument<iocb>(address);
  if (!control) return -EFAULT;
  request.control = *control;
  const auto fd = static_cast<std::int32_t>(control->aio_fildes);
  request.file = process.files().at(fd);
  if (control->aio_reserved2 != 0 || static_cast<std::int64_t>(control->aio_nbytes) < 0) return -EINVAL;
  if (request.file == nullptr && (fd < 0 || !process.files().natively_usable(fd))) return -EBADF;
  request.origin = {control->aio_data, address, nullptr};
  if ((control->aio_flags & IOCB_FLAG_RESFD) != 0) {
    const auto notified = static_cast<std::int32_t>(control->aio_resfd);
    int error;
    request.origin.notified = call.file_of_kind<EventCounter>(notified, -EINVAL, &error);
    if (request.origin.notified == nullptr) return error;
  }
  // Written once, at the first try: the program may have changed or freed the iocb by a later one.
  std::any& made = call.copies.made;
  constexpr std::uint32_t kNoKey = 0;
  if (!made.has_value() && !process.memory().store(address + offsetof(iocb, aio_key), kNoKey)) return -EFAULT;
  made = KeyWritten{};
  if (const int error = check(*control, request.file == nullptr)) return error;
  if (is_poll(*control) || is_sync(*control)) return 0;
  const int mode = request.file != nullptr ? request.file->access_mode() : native_access_mode(process, fd);
  return mode == (is_read(*control) ? O_WRONLY : O_RDONLY) ? -EBADF : 0;
}

// Transfers on simulated files: pipes, sockets, counters, tree files and the standard streams.
IoResult transfer(CallContext& call, const ProgramOutput& output, const AsyncRequest& request) {
  Process& process = call.process;
  const iocb& control = request.control;
  VirtualFile& file = *request.file;
  const auto buffers = has_vector(control) ? load_vector(call, control.aio_buf, control.aio_nbytes)
                                           : Buffers(control.aio_buf, control.aio_nbytes);
  if (!buffers) return -EFAULT;
  const std::uint64_t length = std::min<std::uint64_t>(buffers->length, kRequestBytes);
  std::vector<std::byte> bytes;
  if (is_read(control)) {
    const IoResult n = file.read_async(static_cast<std::uint64_t>(control.aio_offset), length, bytes);
    return n && *n > 0 && !scatter(process, *buffers, bytes) ? -EFAULT : n;
  }
  if (!S_ISSOCK(file.mode()) && !S_ISFIFO(file.mode())) return -EINVAL;
  if (!gather(call, *buffers, length, bytes)) return -EFAULT;
  if (const int stream = file.output_stream(); stream != 0) {
    output(process, stream, bytes);
    return static_cast<std::int64_t>(bytes.size());
  }
  VirtualFilePtr wait_for;
  return file.write_by(process, bytes, wait_for);
}

}  // namespace

// Executes requests in order: simulated files here. A run of requests on real files goes to the runtime,
// which calls again with the results, and the loop continues behind them. A blocking file blocks the call.
CallOutcome sys_io_submit(CallContext& call, const ProgramOutput& output) {
  const auto& a = call.arguments;
  Process& process = call.process;
  const auto context = async_context(call, a[0]);
  if (context == nullptr || a[1] < 0) return Answer{-EINVAL};
  const std::int64_t count = std::min<std::int64_t>(a[1], static_cast<std::int64_t>(context->capacity()));
  auto at = static_cast<std::int64_t>(call.transferred);
  const bool comes_back = call.number == protocol::kTransfersDoneCall;
  if (comes_back && at == 0) {
    if (a[3] < 0 || a[4] < 0 || a[4] > protocol::kMostTransfers || a[3] > count - a[4])
      return Answer{-EINVAL};
    const std::span<const std::byte> mailbox =
        process.region().mailbox(call.thread.slot()).subspan(protocol::kTransfersAt);
    for (std::int64_t i = 0; i < a[4]; ++i) {
      protocol::Transfer transfer;
      std::memcpy(&transfer, mailbox.data() + static_cast<std::size_t>(i) * sizeof transfer, sizeof transfer);
      const auto origin = context->take_back(call.thread.tid());
      if (!origin) return Answer{-EINVAL};
      context->complete(*origin, transfer.result);
    }
    at = a[3] + a[4];
  }
  std::vector<protocol::Transfer> transfers;
  const auto answer = [&](std::int64_t error) -> Answer {
    if (transfers.empty()) return {at > 0 ? at : error};
    std::memcpy(process.region().mailbox(call.thread.slot()).data() + protocol::kTransfersAt,
                transfers.data(), transfers.size() * sizeof transfers.front());
    const auto n = static_cast<std::int64_t>(transfers.size());
    return {0, protocol::Action::kTransfers, {n, at - n}};
  };
  for (; at < count; ++at) {
    if (at > static_cast<std::int64_t>(call.transferred)) call.copies.forget();
    const auto pointer =
        call.load_argument<std::uint64_t>(call.address(2) + static_cast<std::uint64_t>(at) * sizeof(iocb*));
    if (!pointer) return answer(-EFAULT);
    if (context->room() == 0) return answer(-EAGAIN);
    AsyncRequest request;
    if (const std::int64_t error = load_request(call, *pointer, request)) return answer(error);
    if (request.file == nullptr && is_poll(request.control)) {  // real files are always ready
      if (!transfers.empty()) return answer(0);
      constexpr std::uint64_t kAlways = POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM;
      context->complete(request.origin, static_cast<std::int64_t>(request.control.aio_buf & kAlways));
      continue;
    }
    if (request.file == nullptr) {
      if (transfers.size() == protocol::kMostTransfers) return answer(0);
      context->hand_out(call.thread.tid(), request.origin);
      transfers.push_back(transfer_of(request.control));
      continue;
    }
    if (!transfers.empty()) return answer(0);
    if (is_poll(request.control)) {
      context->add_poll(request.origin, request.file,
                        static_cast<std::uint32_t>(request.control.aio_buf) | POLLERR | POLLHUP);
      continue;
    }
    const IoResult result = transfer(call, output, request);
    if (!result && !request.file->nonblocking() && (request.control.aio_rw_flags & RWF_NOWAIT) == 0) {
      call.transferred = static_cast<std::uint64_t>(at);
      return call.wait_for({request.file}, kNever, "io_submit");
    }
    context->complete(request.origin, result.value_or(-EAGAIN));
  }
  return answer(0);
}

// As Linux since 4.20: a cancelled poll also has an event. A transfer has always completed before it could be
// cancelled.
CallOutcome sys_io_cancel(CallContext& call) {
  const auto& a = call.arguments;
  const auto control = call.process.memory().load<iocb>(call.address(1));
  if (!control) return Answer{-EFAULT};
  const auto context = async_context(call, a[0]);
  if (context == nullptr || control->aio_key != 0) return Answer{-EINVAL};
  return Answer{context->cancel_poll(call.address(1)) ? -EINPROGRESS : -EINVAL};
}

CallOutcome sys_io_getevents(CallContext& call) {
  const auto& a = call.arguments;
  Process& process = call.process;
  int error;
  const auto deadline = call.load_deadline(call.address(4), &error);
  if (!deadline) return Answer{error};
  const auto context = async_context(call, a[0]);
  if (context == nullptr || a[1] < 0 || a[1] > a[2]) return Answer{-EINVAL};
  const auto ready = static_cast<std::int64_t>(context->events().size());
  const bool waits = ready < a[1] && call.now() < *deadline;
  if (call.number == SYS_io_pgetevents && a[5] != 0) {
    const auto mask = call.load_argument<std::uint64_t>(call.address(5));  // pointer and size
    if (!mask) return Answer{-EFAULT};
    const int interrupted = deliver_signals_during_wait(call, *mask, waits);
    if (interrupted != 0 && ready == 0) return Answer{interrupted};
  }
  if (waits && !(ready > 0 && call.thread.signals.has_deliverable()))
    return call.wait_for({context}, *deadline, "io_getevents");
  const auto taken = static_cast<std::size_t>(std::min(ready, a[2]));
  for (std::size_t i = 0; i < taken; ++i) {
    if (!process.memory().store(call.address(3) + i * sizeof(io_event), context->events()[i])) {
      context->drop_events(i);
      return Answer{i > 0 ? static_cast<std::int64_t>(i) : -EFAULT};
    }
  }
  context->drop_events(taken);
  return Answer{static_cast<std::int64_t>(taken)};
}

}  // namespace verbatim::supervisor
