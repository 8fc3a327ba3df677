#include "sim/supervisor/net/unix_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

namespace {

constexpr std::size_t kPathOffset = offsetof(sockaddr_un, sun_path);

std::vector<std::byte> unnamed() {
  const sa_family_t family = AF_UNIX;
  const auto bytes = std::as_bytes(std::span(&family, 1));
  return {bytes.begin(), bytes.end()};
}

// The bytes after the family; a path ends at its first zero.
std::optional<std::string> text_of(Socket::Name name, int* error) {
  sa_family_t family;
  *error = -EINVAL;
  if (name.size() < sizeof family || name.size() > sizeof(sockaddr_un)) return std::nullopt;
  std::memcpy(&family, name.data(), sizeof family);
  if (family != AF_UNIX) return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(name.data());
  std::string result(text + kPathOffset, name.size() - kPathOffset);
  if (!result.empty() && result[0] != '\0') result.resize(std::min(result.size(), result.find('\0')));
  return result;
}

std::vector<std::byte> name_of_text(const std::string& text) {
  std::vector<std::byte> name = unnamed();
  for (const char c : text) name.push_back(static_cast<std::byte>(c));
  if (!text.empty() && text[0] != '\0') name.push_back(std::byte{0});
  return name;
}

// A socket in the file system is identified by its file.
std::string file_key(const struct stat& status) {
  return fmt::format("{}:{}", static_cast<std::uint64_t>(status.st_dev),
                     static_cast<std::uint64_t>(status.st_ino));
}

}  // namespace

std::optional<std::string> path_of_unix_name(Socket::Name name) {
  int error;
  auto text = text_of(name, &error);
  return text && !text->empty() && (*text)[0] != '\0' ? text : std::nullopt;
}

std::shared_ptr<UnixSocket> UnixNetwork::find(const Key& key) const {
  const auto it = bound_.find(key);
  return it == bound_.end() ? nullptr : it->second.lock();
}

bool UnixNetwork::bound_elsewhere(const Key& key) const {
  bool elsewhere = false;
  for (const auto& [other, socket] : bound_) {
    if (other.second != key.second) continue;
    if (other.first == key.first) return false;
    elsewhere = true;
  }
  return elsewhere;
}

void UnixNetwork::unbind(const Key& key, const UnixSocket* socket) {
  const auto it = bound_.find(key);
  if (it == bound_.end()) return;
  const auto bound = it->second.lock();
  if (bound == nullptr || bound.get() == socket) bound_.erase(it);
}

std::string UnixNetwork::automatic_name(std::size_t host) {
  return std::string(1, '\0') + fmt::format("{:05x}", named_[host]++);
}

namespace {

// Credentials for SO_PEERCRED of the other end.
ucred effective_of(const Process& process) {
  const Credentials& own = process.credentials();
  return {static_cast<pid_t>(process.pid()), own.users().effective, own.groups().effective};
}

}  // namespace

UnixSocket::UnixSocket(UnixNetwork& network, Process& owner, int type)
    : Socket(AF_UNIX, type),
      network_(network),
      host_(owner.host_index()),
      credentials_(effective_of(owner)),
      local_name_(unnamed()),
      peer_name_(unnamed()) {}

UnixSocket::~UnixSocket() { on_last_close(); }

void UnixSocket::connect_pair(UnixSocket& a, UnixSocket& b) {
  a.peer_ = b.weak_from_this();
  b.peer_ = a.weak_from_this();
  a.connected_ = b.connected_ = true;
  a.peer_credentials_ = b.credentials_;
  b.peer_credentials_ = a.credentials_;
}

std::string UnixSocket::describe() const {
  const std::string what = type() == SOCK_STREAM ? "AF_UNIX stream socket" : "AF_UNIX socket";
  if (listening_) return what + " that listens";
  return connected_ ? what : "unconnected " + what;
}

std::uint32_t UnixSocket::readiness() const {
  if (listening_) return accepted_.empty() ? 0 : POLLIN | POLLRDNORM;
  std::uint32_t events = 0;
  const auto other = peer_.lock();
  const bool ends = type() != SOCK_DGRAM;
  const bool peer_wrote_last =
      read_closed_ || (ends && (peer_gone() || (other != nullptr && other->write_closed_)));
  if (!queue_.empty() || peer_wrote_last) events |= POLLIN | POLLRDNORM;
  if (peer_wrote_last) events |= POLLRDHUP;
  if (ends && !connected_) events |= POLLHUP;
  if (ends && connected_ && (peer_gone() || (write_closed_ && peer_wrote_last))) events |= POLLHUP;
  if (reset_) events |= POLLERR;
  if (other == nullptr || other->queued_ * 4 <= static_cast<std::size_t>(send_buffer)) {
    events |= POLLOUT | POLLWRNORM;
  }
  return events;
}

// Buffer charge in Linux (sock_alloc_send_pskb): the bytes of a stream; the memory of a message, which has at
// most 16 KiB in one block whose size is a power of two, and the rest in pages.
std::size_t UnixSocket::charge_of(std::size_t bytes) const {
  if (type() == SOCK_STREAM) return bytes;
  constexpr std::size_t kHead = 256, kTail = 320, kLeast = 512, kMostInOne = 16'384 - kTail;
  constexpr std::size_t kPage = 4096, kMostInPages = 17 * kPage;
  const std::size_t beyond = bytes > kMostInOne ? std::min(bytes - kMostInOne, kMostInPages) : 0;
  const std::size_t in_pages = (beyond + kPage - 1) / kPage * kPage;
  const std::size_t in_one = bytes > in_pages ? bytes - in_pages : 0;
  return kHead + std::bit_ceil(std::max(in_one + kTail, kLeast)) + in_pages;
}

UnixSocket::Message UnixSocket::take_front() {
  Message front = std::move(queue_.front());
  queue_.pop_front();
  queued_ -= charge_of(front.bytes.size());
  return front;
}

int UnixSocket::bind(Process& process, Name name) {
  int error;
  const auto text = text_of(name, &error);
  if (!text) return error;
  if (key_) return -EINVAL;
  UnixNetwork::Key key{host_, *text};
  std::string shown = *text;
  if (text->empty()) {
    do shown = key.second = network_.automatic_name(host_);
    while (network_.find(key) != nullptr);
  } else if ((*text)[0] != '\0') {
    const std::string path = process.native_path(AT_FDCWD, *text);
    if (!process.may_make(path)) return -EACCES;
    struct stat status;
    const bool made = mknod(path.c_str(), S_IFSOCK | (0777 & ~process.file_mask()), 0) == 0;
    if (!made && errno != EEXIST) return -errno;
    if (stat(path.c_str(), &status) != 0) return made ? -errno : -EADDRINUSE;
    key.second = file_key(status);
    // Hosts have separate sockets but may share the files: a name that only another host has bound is free.
    if (!made && !network_.bound_elsewhere(key)) return -EADDRINUSE;
  } else if (network_.find(key) != nullptr) {
    return -EADDRINUSE;
  }
  local_name_ = name_of_text(shown);
  key_ = key;
  network_.bind(key, weak_from_this());
  return 0;
}

int UnixSocket::listen(Process& process, int backlog) {
  if (type() == SOCK_DGRAM) return -EOPNOTSUPP;
  if (!key_) return -EINVAL;
  if (connected_) return -EINVAL;
  listening_ = true;
  credentials_ = effective_of(process);
  backlog_ = static_cast<std::size_t>(std::clamp(backlog, 0, kLongestBacklog)) + 1;
  notify();
  return 0;
}

std::shared_ptr<UnixSocket> UnixSocket::target(Process& process, Name name, int* error) const {
  const auto text = text_of(name, error);
  if (!text) return nullptr;
  *error = -EINVAL;
  if (text->empty()) return nullptr;
  UnixNetwork::Key key{host_, *text};
  if ((*text)[0] != '\0') {
    struct stat status;
    if (stat(process.native_path(AT_FDCWD, *text).c_str(), &status) != 0) {
      *error = -errno;
      return nullptr;
    }
    key.second = file_key(status);
  }
  const auto socket = network_.find(key);
  *error = -ECONNREFUSED;
  if (socket != nullptr && socket->type() != type()) *error = -EPROTOTYPE;
  return socket == nullptr || socket->type() != type() || socket->closed_ ? nullptr : socket;
}

IoResult UnixSocket::connect(Process& process, Name name, bool, VirtualFilePtr& wait_for) {
  sa_family_t family = AF_UNSPEC;
  if (name.size() >= sizeof family) std::memcpy(&family, name.data(), sizeof family);
  if (type() == SOCK_DGRAM && family == AF_UNSPEC) {
    connected_ = false;
    peer_.reset();
    return 0;
  }
  if (listening_) return -EINVAL;
  if (connected_ && type() != SOCK_DGRAM) return -EISCONN;
  int error;
  const auto other = target(process, name, &error);
  if (other == nullptr) return error;
  if (type() == SOCK_DGRAM) {
    if (other->connected_ && other->peer_.lock().get() != this) return -EPERM;
    connected_ = true;
    peer_ = other;
    peer_name_ = other->local_name_;
    notify();
    return 0;
  }
  if (!other->listening_) return -ECONNREFUSED;
  if (other->accepted_.size() >= other->backlog_) {
    if (nonblocking()) return -EAGAIN;
    wait_for = other;
    return std::nullopt;
  }
  auto accepted = std::make_shared<UnixSocket>(network_, process, type());
  accepted->credentials_ = other->credentials_;
  accepted->local_name_ = other->local_name_;
  accepted->peer_name_ = local_name_;
  peer_name_ = other->local_name_;
  credentials_ = effective_of(process);
  connect_pair(*this, *accepted);
  other->accepted_.push_back(std::move(accepted));
  other->notify();
  notify();
  return 0;
}

std::shared_ptr<Socket> UnixSocket::accept() {
  if (accepted_.empty()) return nullptr;
  auto socket = std::move(accepted_.front());
  accepted_.pop_front();
  notify();
  return socket;
}

bool UnixSocket::has_room_for(const UnixSocket& sender) const {
  if (queued_ >= static_cast<std::size_t>(sender.send_buffer)) return false;
  // A receiver that is connected to its sender is limited by bytes only.
  return type() != SOCK_DGRAM || peer_.lock().get() == &sender || queue_.size() <= kQueueLength;
}

IoResult UnixSocket::put(Process* process, std::span<const std::byte> bytes, std::vector<PassedFile>& files,
                         UnixSocket& to, VirtualFilePtr& wait_for) {
  if (to.closed_) return type() == SOCK_DGRAM ? -ECONNREFUSED : -EPIPE;
  if (to.read_closed_) return -EPIPE;
  if (bytes.empty() && type() == SOCK_STREAM) return 0;
  if (!to.has_room_for(*this)) {
    wait_for = to.shared_from_this();
    return std::nullopt;
  }
  std::size_t n = bytes.size();
  if (type() == SOCK_STREAM) n = std::min(n, static_cast<std::size_t>(send_buffer) - to.queued_);
  ucred sender = credentials_;
  if (process != nullptr) {
    const Credentials& own = process->credentials();
    sender = {static_cast<pid_t>(process->pid()), own.users().real, own.groups().real};
  }
  to.queue_.push_back({{bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n)},
                       0,
                       local_name_,
                       std::move(files),
                       sender});
  to.queued_ += charge_of(n);
  to.notify();
  return static_cast<std::int64_t>(n);
}

IoResult UnixSocket::send(Process& process, OutgoingMessage& message) {
  if (write_closed_) return -EPIPE;
  if (is_too_large(message.bytes.size())) return -EMSGSIZE;
  std::shared_ptr<UnixSocket> other = peer_.lock();
  if (!message.to.empty() && type() == SOCK_DGRAM) {
    int error;
    other = target(process, message.to, &error);
    if (other == nullptr) return error;
    if (other->connected_ && other->peer_.lock().get() != this) return -EPERM;
  } else if (!message.to.empty() && type() == SOCK_STREAM) {
    return connected_ ? -EISCONN : -EOPNOTSUPP;
  } else if (!connected_) {
    return -ENOTCONN;
  }
  if (reset_) return -take_error();
  if (other == nullptr) return type() == SOCK_DGRAM ? -ECONNREFUSED : -EPIPE;
  return put(&process, message.bytes, message.files, *other, message.wait_for);
}

IoResult UnixSocket::write(std::span<const std::byte> bytes) {
  if (write_closed_) return -EPIPE;
  if (!connected_) return -ENOTCONN;
  if (is_too_large(bytes.size())) return -EMSGSIZE;
  const auto other = peer_.lock();
  if (other == nullptr) return type() == SOCK_DGRAM ? -ECONNREFUSED : -EPIPE;
  std::vector<PassedFile> none;
  VirtualFilePtr ignored;
  return put(nullptr, bytes, none, *other, ignored);
}

IoResult UnixSocket::receive(std::size_t limit, bool peek, IncomingMessage& message) {
  if (listening_) return -EINVAL;
  if (type() == SOCK_SEQPACKET && !connected_) return -ENOTCONN;
  if (type() == SOCK_STREAM && !connected_) return -EINVAL;
  message.wants_sender = pass_credentials;
  if (queue_.empty()) {
    if (reset_) return -take_error();
    if (read_closed_) return 0;
    const auto other = peer_.lock();
    if (type() != SOCK_DGRAM && (peer_gone() || (other != nullptr && other->write_closed_))) return 0;
    return std::nullopt;
  }
  // An unnamed sender has an empty name.
  if (queue_.front().from.size() > sizeof(sa_family_t)) message.from = queue_.front().from;
  message.sender = queue_.front().sender;
  keeps_boundaries() ? take_message(limit, peek, message) : take_bytes(limit, peek, message);
  if (!peek) {
    notify();
    if (const auto other = peer_.lock()) other->notify();
  }
  return static_cast<std::int64_t>(message.bytes.size());
}

void UnixSocket::take_message(std::size_t limit, bool peek, IncomingMessage& message) {
  Message& front = queue_.front();
  const std::size_t n = std::min(limit, front.bytes.size());
  message.bytes.assign(front.bytes.begin(), front.bytes.begin() + static_cast<std::ptrdiff_t>(n));
  message.length = front.bytes.size();
  message.files = front.files;
  if (!peek) take_front();
}

// Joins bytes of several messages, but not across passed descriptors, nor across senders if SO_PASSCRED is
// set.
void UnixSocket::take_bytes(std::size_t limit, bool peek, IncomingMessage& message) {
  std::size_t looked_at = 0;
  do {
    Message& part = queue_[looked_at];
    if (message.wants_sender && part.sender.pid != message.sender.pid) break;
    const std::size_t n = std::min(limit - message.bytes.size(), part.bytes.size() - part.taken);
    const auto from = part.bytes.begin() + static_cast<std::ptrdiff_t>(part.taken);
    message.bytes.insert(message.bytes.end(), from, from + static_cast<std::ptrdiff_t>(n));
    message.files = part.files;
    if (peek) {
      ++looked_at;
    } else {
      part.files.clear();
      part.taken += n;
      if (part.taken < part.bytes.size()) break;
      take_front();
    }
  } while (message.files.empty() && message.bytes.size() < limit && looked_at < queue_.size());
  message.length = message.bytes.size();
}

int UnixSocket::shutdown(int how) {
  if (type() != SOCK_DGRAM && !connected_ && !listening_) return -ENOTCONN;
  if (how != SHUT_WR) read_closed_ = true;
  if (how != SHUT_RD) write_closed_ = true;
  if (const auto other = peer_.lock(); other != nullptr && type() != SOCK_DGRAM) {
    if (how != SHUT_RD) other->notify();
    if (how != SHUT_WR) other->notify();
  }
  notify();
  return 0;
}

int UnixSocket::name(bool peer, std::vector<std::byte>& bytes) const {
  if (peer && !connected_) return -ENOTCONN;
  bytes = peer ? peer_name_ : local_name_;
  return 0;
}

std::size_t UnixSocket::readable_bytes() const {
  if (queue_.empty()) return 0;
  if (type() == SOCK_DGRAM || type() == SOCK_SEQPACKET) return queue_.front().bytes.size();
  std::size_t n = 0;
  for (const Message& message : queue_) n += message.bytes.size() - message.taken;
  return n;
}

int UnixSocket::take_error() {
  const bool was_reset = reset_;
  reset_ = false;
  return was_reset ? ECONNRESET : 0;
}

void UnixSocket::on_last_close() {
  if (closed_) return;
  closed_ = true;
  if (key_) network_.unbind(*key_, this);
  for (const auto& waiting : accepted_) {
    waiting->closed_ = true;
    if (const auto client = waiting->peer_.lock()) {
      client->reset_ = true;
      client->notify();
    }
  }
  accepted_.clear();
  if (const auto other = peer_.lock()) {
    if (type() != SOCK_DGRAM && !queue_.empty()) other->reset_ = true;
    other->notify();
  }
  queue_.clear();
  queued_ = 0;
}

}  // namespace verbatim::supervisor
