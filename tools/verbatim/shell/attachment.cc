#include "tools/verbatim/shell/attachment.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace verbatim::cli {

namespace {

constexpr std::size_t kMostBytes = 1 << 16;  // of a frame
constexpr std::size_t kHead = 5;

// A path of the socket that is short enough for sun_path: through a descriptor of its folder.
class SocketName {
 public:
  explicit SocketName(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    folder_ = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    const std::string name = "/proc/self/fd/" + std::to_string(folder_) + "/" + path.substr(slash == std::string::npos ? 0 : slash + 1);
    address_.sun_family = AF_UNIX;
    fits_ = folder_ >= 0 && name.size() < sizeof address_.sun_path;
    if (fits_) std::memcpy(address_.sun_path, name.c_str(), name.size() + 1);
  }
  ~SocketName() {
    if (folder_ >= 0) ::close(folder_);
  }
  SocketName(const SocketName&) = delete;
  SocketName& operator=(const SocketName&) = delete;
  bool fits() const { return fits_; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t size() const { return sizeof address_; }

 private:
  int folder_ = -1;
  sockaddr_un address_{};
  bool fits_ = false;
};

}  // namespace

std::string socket_of(const std::string& session_file) { return session_file + ".socket"; }

std::string frame_of(AttachmentFrame kind, std::string_view body) {
  const std::uint32_t length = htonl(static_cast<std::uint32_t>(body.size()));
  std::string frame(kHead, static_cast<char>(kind));
  std::memcpy(frame.data() + 1, &length, sizeof length);
  return frame.append(body);
}

std::string body_of(const AttachmentSize& size) {
  const std::uint16_t words[2] = {htons(size.rows), htons(size.columns)};
  return {reinterpret_cast<const char*>(words), sizeof words};
}

int connect_to_session(const std::string& session_file, std::string* failure) {
  const std::string path = socket_of(session_file);
  const SocketName name(path);
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor >= 0 && name.fits() && ::connect(descriptor, name.get(), name.size()) == 0) return descriptor;
  *failure = "no session " + session_file + " is going on: " + std::strerror(errno) +
             "; `verbatim shell` at a real terminal starts one, and makes " + path;
  if (descriptor >= 0) ::close(descriptor);
  return -1;
}

AttachmentServer::~AttachmentServer() {
  for (const Client& client : clients_) ::close(client.descriptor);
  if (listener_ < 0) return;
  ::close(listener_);
  ::unlink(path_.c_str());
}

std::string AttachmentServer::listen(const std::string& session_file) {
  path_ = socket_of(session_file);
  ::unlink(path_.c_str());  // of a killed session: this session's file is new
  const SocketName name(path_);
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const mode_t before = ::umask(077);
  const bool bound = descriptor >= 0 && name.fits() && ::bind(descriptor, name.get(), name.size()) == 0;
  ::umask(before);
  if (bound && ::listen(descriptor, 8) == 0) {
    listener_ = descriptor;
    return "";
  }
  const std::string failure = "cannot make " + path_ + ": " + std::strerror(errno);
  if (descriptor >= 0) ::close(descriptor);
  return failure;
}

std::vector<int> AttachmentServer::descriptors() const {
  std::vector<int> all;
  if (listener_ >= 0) all.push_back(listener_);
  for (const Client& client : clients_) all.push_back(client.descriptor);
  return all;
}

bool AttachmentServer::next_event(Client& client, Event& event, bool& is_wrong) {
  if (client.bytes.size() < kHead) return false;
  std::uint32_t length = 0;
  std::memcpy(&length, client.bytes.data() + 1, sizeof length);
  length = ntohl(length);
  is_wrong = length > kMostBytes;
  if (is_wrong || client.bytes.size() < kHead + length) return false;
  event.client = client.number;
  event.kind = static_cast<AttachmentFrame>(client.bytes.front());
  std::string body = client.bytes.substr(kHead, length);
  client.bytes.erase(0, kHead + length);
  if (event.kind == AttachmentFrame::kHello || event.kind == AttachmentFrame::kSize) {
    std::uint16_t words[2];
    is_wrong = body.size() < sizeof words;
    if (is_wrong) return false;
    std::memcpy(words, body.data(), sizeof words);
    event.size = {ntohs(words[0]), ntohs(words[1])};
    body.erase(0, sizeof words);
  } else if (event.kind != AttachmentFrame::kKeys) {
    is_wrong = true;
    return false;
  }
  event.text = std::move(body);
  return true;
}

// Returns false if the client has closed the connection or sent invalid data.
bool AttachmentServer::read(Client& client, std::vector<Event>& events) {
  char bytes[4096];
  bool is_wrong = false;
  for (;;) {
    const ssize_t n = ::recv(client.descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (n < 0) return true;
    client.bytes.append(bytes, static_cast<std::size_t>(n));
    for (Event event; next_event(client, event, is_wrong); event = {}) events.push_back(event);
    if (is_wrong) return false;
  }
}

std::vector<AttachmentServer::Event> AttachmentServer::take() {
  std::vector<Event> events;
  if (listener_ >= 0) {
    const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (descriptor >= 0) clients_.push_back({clients_ever_++, descriptor, ""});
  }
  std::vector<std::size_t> gone;
  for (Client& client : clients_) {
    if (!read(client, events)) gone.push_back(client.number);
  }
  for (const std::size_t number : gone) {
    close(number);
    Event event;
    event.client = number;
    event.has_gone = true;
    events.push_back(event);
  }
  return events;
}

void AttachmentServer::write(std::size_t number, std::string_view text) {
  const auto client = std::ranges::find(clients_, number, &Client::number);
  constexpr int kPatienceMs = 2000;
  while (client != clients_.end() && !text.empty()) {
    const ssize_t n = ::send(client->descriptor, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
      continue;
    }
    pollfd wait{client->descriptor, POLLOUT, 0};
    if (errno == EAGAIN && ::poll(&wait, 1, kPatienceMs) > 0) continue;
    if (errno == EINTR) continue;
    ::shutdown(client->descriptor, SHUT_RDWR);  // noticed as closed when it is read
    return;
  }
}

void AttachmentServer::close(std::size_t number) {
  std::erase_if(clients_, [&](const Client& client) {
    if (client.number == number) ::close(client.descriptor);
    return client.number == number;
  });
}

}  // namespace verbatim::cli
