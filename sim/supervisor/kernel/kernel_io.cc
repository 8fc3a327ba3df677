// read, write, close and other calls on descriptors; open.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/kernel/umad_file.h"
#include "sim/supervisor/files/inotify_file.h"
#include "sim/supervisor/files/pipe.h"
#include "sim/supervisor/files/terminal.h"
#include "sim/supervisor/trees/process_tree.h"
#include "sim/supervisor/net/interfaces.h"
#include "sim/supervisor/net/socket.h"
#include "sim/supervisor/trees/tree_files.h"
#include "sim/supervisor/trees/virtual_paths.h"

namespace verbatim::supervisor {

namespace {
constexpr std::uint64_t kMaxTransfer = 0x7ffff000;  // MAX_RW_COUNT of Linux
constexpr std::uint64_t kMaxVector = 1024;
constexpr std::size_t kChunk = 1 << 20;  // maximum bytes moved by one try of a read or write

// A terminal of the machine, or its multiplexer. A read would sleep in the machine's kernel, where virtual
// time stops. /dev/tty is excluded: the process has no controlling terminal on the machine, and Linux returns
// ENXIO.
bool is_terminal(const struct stat& status) {
  if (!S_ISCHR(status.st_mode)) return false;
  const unsigned kind = major(status.st_rdev);
  constexpr unsigned kTty = 4, kOther = 5, kPseudoFirst = 136, kPseudoLast = 143;
  return kind == kTty || (kind == kOther && minor(status.st_rdev) != 0) ||
         (kind >= kPseudoFirst && kind <= kPseudoLast);
}

}  // namespace

Kernel::Buffers Kernel::behind(const Buffers& buffers, std::uint64_t offset) {
  Buffers rest;
  rest.length = buffers.length - offset;
  for (auto part : buffers.parts) {
    const std::uint64_t skipped = std::min(part.length, offset);
    offset -= skipped;
    part.address += skipped;
    part.length -= skipped;
    rest.parts.push_back(part);
  }
  return rest;
}

std::optional<Kernel::Buffers> Kernel::load_vector(Thread& thread, std::uint64_t address, std::uint64_t count) {
  static_assert(sizeof(Buffers::Part) == sizeof(iovec));
  Buffers buffers;
  if (count > kMaxVector) return std::nullopt;
  buffers.parts.resize(count);
  if (count > 0 && !read_argument(thread, address, std::as_writable_bytes(std::span(buffers.parts)))) return std::nullopt;
  for (const Buffers::Part& part : buffers.parts) buffers.length += std::min(part.length, kMaxTransfer);
  buffers.length = std::min(buffers.length, kMaxTransfer);
  return buffers;
}

bool Kernel::gather(Thread& thread, const Buffers& from, std::uint64_t limit, std::vector<std::byte>& bytes, bool once) {
  ProcessMemory& memory = thread.process().memory();
  for (const Buffers::Part& part : from.parts) {
    const std::uint64_t n = std::min(part.length, limit - bytes.size());
    const std::size_t at = bytes.size();
    bytes.resize(at + n);
    const auto to = std::span(bytes).subspan(at, n);
    if (n > 0 && !(once ? read_argument(thread, part.address, to) : memory.read(part.address, to))) return false;
  }
  return true;
}

bool Kernel::scatter(Process& process, const Buffers& to, std::span<const std::byte> bytes) {
  for (const Buffers::Part& part : to.parts) {
    const std::size_t n = std::min<std::uint64_t>(part.length, bytes.size());
    if (n > 0 && !process.memory().put(part.address, bytes.first(n))) return false;
    bytes = bytes.subspan(n);
  }
  return true;
}

Kernel::Outcome Kernel::wait_or_give_up(Thread& thread, std::vector<VirtualFilePtr> files, bool dont_wait,
                                        Duration timeout, const std::string& call) {
  const auto done = static_cast<std::int64_t>(thread.call().transferred);
  Instant deadline = timeout > Duration::zero() ? later(now(), timeout) : kNever;
  if (thread.retried()) deadline = thread.deadline();
  if (dont_wait || now() >= deadline) return Answer{done > 0 ? done : -EAGAIN};
  return wait_for(thread, std::move(files), deadline, call);
}

Kernel::Outcome Kernel::read_into(Thread& thread, const VirtualFilePtr& file, const Buffers& to) {
  if (auto terminal = std::dynamic_pointer_cast<TerminalFile>(file)) return read_terminal(thread, terminal, to);
  std::vector<std::byte> bytes;
  const std::uint64_t wanted = std::min<std::uint64_t>(to.length, kChunk);
  const std::uint64_t limit = readable_now(thread, *file, wanted, file->nonblocking(), false);
  if (limit < wanted && limit == 0) return Answer{-EAGAIN};
  const IoResult n = file->read(limit, bytes);
  if (!n) return wait_or_give_up(thread, {file}, file->nonblocking(), file->read_timeout, "read");
  // An error may accompany bytes: for a management datagram that is too long, the header holds the needed
  // length.
  if (!bytes.empty() && !scatter(thread.process(), to, bytes)) return Answer{-EFAULT};
  return Answer{*n};
}

Kernel::Outcome Kernel::write_from(Thread& thread, const VirtualFilePtr& file, const Buffers& from,
                                   const Sending& sending) {
  Process& process = thread.process();
  std::uint64_t& done = thread.call().transferred;
  const Buffers rest = behind(from, done);
  const bool dont_wait = (sending.flags & MSG_DONTWAIT) != 0 || file->nonblocking();
  const std::uint64_t wanted = std::min<std::uint64_t>(rest.length, kChunk);
  const std::uint64_t limit = sending.files.empty() ? writable_now(thread, *file, wanted, dont_wait) : wanted;
  if (limit < wanted && limit == 0) return Answer{done > 0 ? static_cast<std::int64_t>(done) : -EAGAIN};
  std::vector<std::byte> bytes;
  auto* const connections = dynamic_cast<RdmaCmFile*>(file.get());
  if (!gather(thread, rest, limit, bytes, connections != nullptr)) return Answer{-EFAULT};
  if (const auto* output = dynamic_cast<const OutputFile*>(file.get())) {
    output_(process, output->stream(), bytes);
    return Answer{static_cast<std::int64_t>(bytes.size())};
  }
  if (auto* end = dynamic_cast<TerminalFile*>(file.get()); end != nullptr && end->terminal().stops_background_output()) {
    if (auto refused = keep_in_background(thread, end->terminal(), SIGTTOU)) return *refused;
  }
  std::vector<VirtualFilePtr> waits = {file};
  IoResult n;
  if (auto* socket = dynamic_cast<Socket*>(file.get())) {
    OutgoingMessage message{bytes, sending.to, {}, nullptr};
    if (done == 0) message.files = sending.files;
    n = socket->send(process, message);
    if (message.wait_for != nullptr && message.wait_for != file) waits.push_back(message.wait_for);
  } else if (connections != nullptr) {
    n = connections->command(process, bytes);
    if (n && *n > 0) return Answer{*n};
  } else {
    n = file->write(bytes);
  }
  if (!n) return wait_or_give_up(thread, std::move(waits), dont_wait, file->write_timeout, "write");
  if (*n < 0 && done > 0) return Answer{static_cast<std::int64_t>(done)};
  if (*n > 0) {
    done += static_cast<std::uint64_t>(*n);
    // A blocking write returns when everything is written.
    const auto* socket = dynamic_cast<const Socket*>(file.get());
    const bool stream = socket == nullptr || !socket->keeps_boundaries();
    if (stream && done < from.length) {
      return wait_or_give_up(thread, std::move(waits), dont_wait, file->write_timeout, "write");
    }
    return Answer{static_cast<std::int64_t>(done)};
  }
  if (*n == -EPIPE && (sending.flags & MSG_NOSIGNAL) == 0)
    return Answer{*n, protocol::Action::kRaise, {SIGPIPE, 0}};
  return Answer{*n};
}

Kernel::Outcome Kernel::sys_read(Thread& thread) {
  const PendingCall& call = thread.call();
  const VirtualFilePtr file = thread.process().file(call.arguments[0]);
  if (file == nullptr) return Answer{-EBADF};
  if (file->access_mode() == O_WRONLY) return Answer{-EBADF};
  Buffers to;
  if (call.number == SYS_readv) {
    const auto loaded = load_vector(thread, static_cast<std::uint64_t>(call.arguments[1]),
                                    static_cast<std::uint64_t>(call.arguments[2]));
    if (!loaded) return Answer{-EFAULT};
    to = *loaded;
  } else {
    to.length = std::min(static_cast<std::uint64_t>(call.arguments[2]), kMaxTransfer);
    to.parts.push_back({static_cast<std::uint64_t>(call.arguments[1]), to.length});
  }
  return read_into(thread, file, to);
}

Kernel::Outcome Kernel::sys_write(Thread& thread) {
  const PendingCall& call = thread.call();
  const VirtualFilePtr file = thread.process().file(call.arguments[0]);
  if (file == nullptr || file->access_mode() == O_RDONLY) return Answer{-EBADF};
  Buffers from;
  if (call.number == SYS_writev) {
    const auto loaded = load_vector(thread, static_cast<std::uint64_t>(call.arguments[1]),
                                    static_cast<std::uint64_t>(call.arguments[2]));
    if (!loaded) return Answer{-EFAULT};
    from = *loaded;
  } else {
    from.length = std::min(static_cast<std::uint64_t>(call.arguments[2]), kMaxTransfer);
    from.parts.push_back({static_cast<std::uint64_t>(call.arguments[1]), from.length});
  }
  return write_from(thread, file, from, {});
}

Kernel::Outcome Kernel::sys_close(Thread& thread) {
  const auto fd = static_cast<int>(thread.call().arguments[0]);
  if (!thread.process().close(fd)) return Answer{-EBADF};
  return Answer{0, protocol::Action::kReleaseFd, {fd, 0}};
}

// The shim closes the numbers in the kernel's table, except its own, before this call.
Kernel::Outcome Kernel::sys_close_range(Thread& thread) {
  const auto& a = thread.call().arguments;
  if ((a[2] & ~std::int64_t{4}) != 0)
    return Answer{-EINVAL};  // CLOSE_RANGE_CLOEXEC takes effect at exec
  const auto first = static_cast<std::uint32_t>(a[0]);
  const auto last = static_cast<std::uint32_t>(a[1]);
  if (first > last) return Answer{-EINVAL};
  if (a[2] != 0) return Answer{0};
  Process& process = thread.process();
  const auto& files = process.files();
  while (true) {
    const auto it = first > INT_MAX ? files.end() : files.lower_bound(static_cast<int>(first));
    if (it == files.end() || static_cast<std::uint32_t>(it->first) > last) break;
    process.close(it->first);
  }
  return Answer{0};
}

Kernel::Outcome Kernel::sys_fcntl(Thread& thread) {
  const auto& a = thread.call().arguments;
  Process& process = thread.process();
  const VirtualFilePtr file = process.file(a[0]);
  if (file == nullptr) return Answer{-EBADF};
  switch (a[1]) {
    case F_GETFL:
      return Answer{file->access_mode() | (file->nonblocking() ? O_NONBLOCK : 0) | (is_followed(*file) ? O_ASYNC : 0)};
    case F_SETFL:
      file->set_nonblocking((a[2] & O_NONBLOCK) != 0);
      follow(process, *file, (a[2] & O_ASYNC) != 0, static_cast<int>(a[0]));
      return Answer{0};
    case F_GETFD:
    case F_SETFD:
      return Answer{0, protocol::Action::kNative};
    case F_DUPFD:
    case F_DUPFD_CLOEXEC: {
      if (a[2] < 0 || a[2] >= process.descriptor_limit()) return Answer{-EINVAL};
      const int fd = process.install(file, static_cast<int>(a[2]));
      if (fd < 0) return Answer{fd};
      return Answer{fd, protocol::Action::kReserveFd, {fd, 0}};
    }
    case F_GETPIPE_SZ:
    case F_SETPIPE_SZ: {
      auto* end = dynamic_cast<PipeEnd*>(file.get());
      if (end == nullptr) return Answer{-EBADF};
      if (a[1] == F_GETPIPE_SZ) return Answer{static_cast<std::int64_t>(end->pipe().capacity())};
      return Answer{end->pipe().resize(static_cast<std::size_t>(a[2]))};
    }
    case F_SETOWN:
    case F_SETOWN_EX:
    case F_GETOWN:
    case F_GETOWN_EX:
    case F_SETSIG:
    case F_GETSIG:
      return control_file_signal(thread, *file);
    default:
      return Answer{-EINVAL};
  }
}

Kernel::Outcome Kernel::sys_ioctl(Thread& thread) {
  const auto& a = thread.call().arguments;
  Process& process = thread.process();
  const VirtualFilePtr file = process.file(a[0]);
  if (file == nullptr) return Answer{-EBADF};
  const auto argument = static_cast<std::uint64_t>(a[2]);
  if (auto answer = control_terminal(thread, *file)) return *answer;
  switch (static_cast<unsigned long>(a[1])) {
    case FIOCLEX:
    case FIONCLEX:
      return Answer{0, protocol::Action::kNative};
    case FIONBIO: {
      const auto on = process.memory().load<int>(argument);
      if (!on) return Answer{-EFAULT};
      file->set_nonblocking(*on != 0);
      return Answer{0};
    }
    case FIOASYNC: {
      const auto on = process.memory().load<int>(argument);
      if (!on) return Answer{-EFAULT};
      return Answer{follow(process, *file, *on != 0, static_cast<int>(a[0])) ? 0 : -ENOTTY};
    }
    case FIONREAD: {
      int n = 0;
      if (const auto* socket = dynamic_cast<const Socket*>(file.get())) {
        n = static_cast<int>(socket->readable_bytes());
      } else if (auto* end = dynamic_cast<PipeEnd*>(file.get())) {
        n = static_cast<int>(end->pipe().size());
      } else if (const auto* watches = dynamic_cast<const InotifyFile*>(file.get())) {
        n = static_cast<int>(watches->readable_bytes());
      } else {
        return Answer{-ENOTTY};
      }
      return Answer{process.memory().store(argument, n) ? 0 : -EFAULT};
    }
    default:
      if (auto* umad = dynamic_cast<UmadFile*>(file.get())) {
        return Answer{umad->control(process, static_cast<std::uint32_t>(a[1]), argument)};
      }
      return dynamic_cast<const Socket*>(file.get()) != nullptr ? ask_interface(thread) : Answer{-ENOTTY};
  }
}

namespace {

sockaddr interface_address(std::uint32_t value) {
  sockaddr_in inet{};
  inet.sin_family = AF_INET;
  inet.sin_addr.s_addr = htonl(value);
  sockaddr name;
  std::memcpy(&name, &inet, sizeof name);
  return name;
}

void set_name(ifreq& request, const Interface& interface) {
  std::memset(request.ifr_name, 0, sizeof request.ifr_name);
  std::memcpy(request.ifr_name, interface.name.data(), std::min(interface.name.size(), sizeof request.ifr_name - 1));
}

}  // namespace

// SIOCGIFCONF: as many entries as fit; with a null buffer, the size needed.
Answer Kernel::list_interfaces(Process& process, std::uint64_t address) {
  auto list = process.memory().load<ifconf>(address);
  if (!list) return {-EFAULT};
  std::vector<ifreq> interfaces;
  for (const Interface& one : interfaces_of(process.host())) {
    ifreq& told = interfaces.emplace_back();
    set_name(told, one);
    told.ifr_addr = interface_address(one.v4.as_v4());
  }
  const auto to = reinterpret_cast<std::uint64_t>(list->ifc_buf);
  const std::size_t room = list->ifc_len < 0 ? 0 : static_cast<std::size_t>(list->ifc_len) / sizeof(ifreq);
  const std::size_t fit = std::min(room, interfaces.size());
  const std::size_t told = to == 0 ? interfaces.size() : fit;
  if (to != 0 && !process.memory().put(to, std::as_bytes(std::span(interfaces).first(fit)))) return {-EFAULT};
  list->ifc_len = static_cast<int>(told * sizeof(ifreq));
  return {process.memory().store(address, *list) ? 0 : -EFAULT};
}

// Interface requests of netdevice(7).
Answer Kernel::ask_interface(Thread& thread) {
  const auto& a = thread.call().arguments;
  Process& process = thread.process();
  const auto address = static_cast<std::uint64_t>(a[2]);
  const auto number = static_cast<unsigned long>(a[1]);
  if (number == SIOCETHTOOL) return ask_ethtool(process, address);
  if (number < SIOCGIFNAME || number > SIOCGIFINDEX) return {-ENOTTY};
  if (number == SIOCGIFCONF) return list_interfaces(process, address);
  auto request = process.memory().load<ifreq>(address);
  if (!request) return {-EFAULT};
  request->ifr_name[IFNAMSIZ - 1] = 0;
  const std::string name = request->ifr_name;
  const bool by_number = number == SIOCGIFNAME;
  const std::vector<Interface> interfaces = interfaces_of(process.host());
  const auto found = std::ranges::find_if(
      interfaces, [&](const Interface& one) { return by_number ? request->ifr_ifindex == one.index : name == one.name; });
  if (found == interfaces.end()) return {by_number ? -ENXIO : -ENODEV};
  const auto set_address = [&](std::uint32_t value) { request->ifr_addr = interface_address(value); };
  switch (number) {
    case SIOCGIFNAME:
      set_name(*request, *found);
      break;
    case SIOCGIFINDEX:
      request->ifr_ifindex = found->index;
      break;
    case SIOCGIFFLAGS:
      request->ifr_flags = static_cast<short>(found->flags & 0xffff);
      break;
    case SIOCGIFADDR:
      set_address(found->v4.as_v4());
      break;
    case SIOCGIFNETMASK:
      set_address(found->mask_v4());
      break;
    case SIOCGIFBRDADDR:
      set_address(found->is_loopback() ? 0 : found->broadcast_v4());
      break;
    case SIOCGIFMTU:
      request->ifr_mtu = static_cast<int>(found->mtu);
      break;
    case SIOCGIFHWADDR: {
      request->ifr_hwaddr.sa_family = found->kind;
      char(&bytes)[sizeof request->ifr_hwaddr.sa_data] = request->ifr_hwaddr.sa_data;
      std::memset(bytes, 0, sizeof bytes);  // an IPoIB address is longer and is truncated
      std::memcpy(bytes, found->hardware.data(), std::min(sizeof bytes, found->hardware.size()));
      break;
    }
    default:
      return {-ENOTTY};
  }
  return {process.memory().store(address, *request) ? 0 : -EFAULT};
}

Kernel::Outcome Kernel::sys_dup(Thread& thread) {
  const PendingCall& call = thread.call();
  Process& process = thread.process();
  const auto from = static_cast<int>(call.arguments[0]);
  const VirtualFilePtr file = process.file(from);
  if (call.number == SYS_dup) {
    if (file == nullptr) return process.natively_open(from) ? Answer{0, protocol::Action::kNative} : Answer{-EBADF};
    const int fd = process.install(file);
    if (fd < 0) return Answer{fd};
    return Answer{fd, protocol::Action::kReserveFd, {fd, 0}};
  }
  const auto to = static_cast<int>(call.arguments[1]);
  if (from == to && call.number == SYS_dup3) return Answer{-EINVAL};
  if (file == nullptr && !process.natively_open(from)) return Answer{-EBADF};
  if (from == to) return Answer{to};
  if (to < 0 || to >= process.descriptor_limit()) return Answer{-EBADF};
  if (file == nullptr) {
    process.close(to);
    return Answer{0, protocol::Action::kNative};
  }
  process.install_at(to, file);
  return Answer{to, protocol::Action::kReserveFd, {to, 0}};
}

Kernel::Outcome Kernel::sys_seek(Thread& thread) {
  const PendingCall& call = thread.call();
  const auto& a = call.arguments;
  const VirtualFilePtr file = thread.process().file(a[0]);
  if (file == nullptr) return Answer{-EBADF};
  auto* opened = dynamic_cast<TreeFile*>(file.get());
  if (opened == nullptr) return Answer{-ESPIPE};
  if (call.number == SYS_lseek) return Answer{opened->seek(a[1], static_cast<int>(a[2]))};
  auto* content = dynamic_cast<ContentFile*>(file.get());
  if (content == nullptr) return Answer{-EISDIR};
  if (call.number != SYS_pread64) return Answer{call.number == SYS_pwrite64 ? -EBADF : -EOPNOTSUPP};
  if (a[3] < 0) return Answer{-EINVAL};
  std::vector<std::byte> bytes;
  const std::uint64_t room = std::min<std::uint64_t>(static_cast<std::uint64_t>(a[2]), kChunk);
  const std::int64_t n = content->read_at(static_cast<std::uint64_t>(a[3]), room, bytes);
  if (n > 0 && !thread.process().memory().put(static_cast<std::uint64_t>(a[1]), bytes))
    return Answer{-EFAULT};
  return Answer{n};
}

Kernel::Outcome Kernel::sys_open(Thread& thread) {
  const PendingCall& call = thread.call();
  Process& process = thread.process();
  const protocol::PathCall& row = *protocol::path_call(call.number);
  const int flags = call.number == SYS_creat ? O_CREAT | O_WRONLY | O_TRUNC
                                             : static_cast<int>(call.arguments[row.flags]);
  if (thread.opening() != nullptr) return open_fifo(thread, {}, flags);  // found by an earlier try; the path may have changed
  int error;
  const auto path = whole_path(thread, row.paths[0], &error);
  if (error != 0) return Answer{error};
  if (!path) return Answer{0, protocol::Action::kNative};  // the kernel returns the error
  const TreeWalk found = walk(thread, *path, protocol::follows(row, row.paths[0], call.arguments));
  if (found.entered) {
    const bool makes = (flags & O_CREAT) != 0 && found.end == TreeWalk::End::kMissing;
    if (makes) return deny(thread, 0, found.path, EACCES);
    if (const Outcome nothing = missing(thread, 0, found)) return nothing;
    if (found.end == TreeWalk::End::kNode) return open_node(thread, found, flags);
    // /dev/fd/3 and similar paths of a virtual descriptor: a new number for the same open file.
    Process& owner = owner_of(process, found);
    if (!may_look_into(thread, owner)) return Answer{-EACCES};
    if (const VirtualFilePtr file = owner.file(found.descriptor)) {
      if (&owner != &process && S_ISSOCK(file->mode())) return Answer{-ENXIO};
      return install(process, file, file->nonblocking());
    }
    const std::string own = native_descriptor(process, owner, found.descriptor);
    const auto mailbox = process.region().mailbox(thread.slot());
    std::memcpy(mailbox.data(), own.c_str(), own.size() + 1);
    return Answer{0, protocol::Action::kNativePath, {0, 0}};
  }
  const std::int64_t folder = row.paths[0].folder >= 0 ? call.arguments[row.paths[0].folder] : AT_FDCWD;
  const std::string native = process.native_path(static_cast<int>(folder), *path);
  struct stat status;
  const bool exists = stat(native.c_str(), &status) == 0;
  if (exists && S_ISFIFO(status.st_mode)) return open_fifo(thread, native, flags);
  if (exists && is_terminal(status)) {
    warn(process, fmt::format("terminals are not simulated; the program that opened {} got ENODEV", *path));
    return Answer{-ENODEV};
  }
  if (exists && (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) && (flags & O_PATH) == 0) {
    warn(process, fmt::format("{} is a device of the machine's; the program that opened it got EPERM", *path));
    return Answer{-EPERM};
  }
  return Answer{0, protocol::Action::kNative};
}

}  // namespace verbatim::supervisor
