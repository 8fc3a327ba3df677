// Common base of sockets of all families. Names are raw sockaddr bytes.
#pragma once

#include <sys/socket.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/supervisor/files/passage.h"
#include "sim/supervisor/files/virtual_file.h"
#include "sim/supervisor/net/internet.h"

namespace verbatim::supervisor {

class Process;

// A file in a message in flight (SCM_RIGHTS), which keeps it open.
class PassedFile {
 public:
  explicit PassedFile(VirtualFilePtr file) : file_(std::move(file)) { file_->add_descriptor(); }
  explicit PassedFile(std::shared_ptr<const RealFile> real) : real_(std::move(real)) {}
  ~PassedFile() {
    if (file_ != nullptr) file_->drop_descriptor();
  }
  PassedFile(PassedFile&&) noexcept = default;
  PassedFile(const PassedFile& other) : file_(other.file_), real_(other.real_) {
    if (file_ != nullptr) file_->add_descriptor();
  }
  PassedFile& operator=(PassedFile other) noexcept {
    std::swap(file_, other.file_);
    std::swap(real_, other.real_);
    return *this;
  }
  // Exactly one of the two is not null.
  const VirtualFilePtr& file() const { return file_; }
  const std::shared_ptr<const RealFile>& real() const { return real_; }

 private:
  VirtualFilePtr file_;
  std::shared_ptr<const RealFile> real_;
};

struct OutgoingMessage {
  std::span<const std::byte> bytes;
  std::span<const std::byte> to;  // empty: the peer
  std::vector<PassedFile> files;
  // Output: the file to wait for if there is no room; nullptr: the socket itself.
  VirtualFilePtr wait_for;
  bool is_continued = false;  // MSG_MORE: the next message belongs to the same datagram
};

struct IncomingMessage {
  struct Control {
    int level, type;
    std::vector<std::byte> bytes;
  };

  std::vector<std::byte> bytes;
  std::size_t length = 0;  // length of the whole datagram; `bytes` may be truncated
  std::vector<std::byte> from;
  std::vector<PassedFile> files;
  ucred sender{0, 0, 0};
  bool wants_sender = false;  // SO_PASSCRED
  std::vector<Control> control;  // cmsg(3), besides files, sender and timestamp
  int timestamp_option = 0;      // SO_TIMESTAMP, SO_TIMESTAMPNS or their _NEW form: `arrival` is control data; 0: it is not
  Instant arrival{};
  int flags = 0;  // for msg_flags: MSG_ERRQUEUE
};

inline constexpr int kLongestBacklog = 4096;  // net.core.somaxconn

// A TCP, UDP or ICMP socket in the lists of /proc/net.
struct InternetState {
  Endpoint local, remote;
  int number = 0;  // TCP_ESTABLISHED …, of netinet/tcp.h; UDP and ICMP have TCP_ESTABLISHED and TCP_CLOSE
  std::size_t sent_bytes = 0;      // not yet received by the peer
  std::size_t received_bytes = 0;  // not yet read; a FIN counts as one
};

class Socket : public VirtualFile {
 public:
  using Name = std::span<const std::byte>;

  Socket(int family, int type) : family_(family), type_(type) {}

  int family() const { return family_; }
  int type() const { return type_; }
  virtual int protocol() const { return 0; }
  bool keeps_boundaries() const final { return type_ != SOCK_STREAM; }

  // The following functions return 0 or more, or -errno.
  virtual int bind(Process& process, Name name) = 0;
  // The backlog is limited to kLongestBacklog.
  virtual int listen(Process& process, int backlog);
  // nullopt: the caller must wait for `wait_for` and call again with `again`.
  virtual IoResult connect(Process& process, Name name, bool again, VirtualFilePtr& wait_for) = 0;
  virtual bool listening() const { return false; }
  // nullopt: another family, or Linux does not list the socket yet.
  virtual std::optional<InternetState> internet_state() const { return std::nullopt; }
  // nullptr: no pending connection.
  virtual std::shared_ptr<Socket> accept() { return nullptr; }
  virtual IoResult send(Process& process, OutgoingMessage& message) = 0;
  virtual IoResult receive(std::size_t limit, bool peek, IncomingMessage& message) = 0;
  // The next message of the queue that MSG_ERRQUEUE reads; nullopt: it is empty.
  virtual IoResult receive_error(std::size_t, IncomingMessage&) { return std::nullopt; }
  // Its messages have an arrival time: SO_TIMESTAMP is accepted.
  virtual bool stamps_arrivals() const { return false; }
  virtual int shutdown(int how) = 0;
  // The socket's own name or its peer's.
  virtual int name(bool peer, std::vector<std::byte>& bytes) const = 0;
  virtual std::size_t readable_bytes() const = 0;
  // Options of the family. Options of SOL_SOCKET are handled in kernel/kernel_options.cc.
  virtual int set_option(int level, int option, int value);
  virtual int get_option(int level, int option, int* value) const;
  // Options whose value is not an int; nullopt: another option.
  virtual std::optional<int> set_structured_option(int, int, std::span<const std::byte>) { return std::nullopt; }
  // Value of an option that is not an int; empty: another option.
  virtual std::vector<std::byte> structured_option(int level, int option) const;
  // SO_ERROR: returns the pending error, 0 or a positive errno, and clears it.
  virtual int take_error() { return 0; }
  // SO_PEERCRED.
  virtual ucred peer() const { return {0, static_cast<uid_t>(-1), static_cast<gid_t>(-1)}; }

  std::uint32_t mode() const override;
  IoResult read(std::size_t limit, std::vector<std::byte>& bytes) override;
  // send() to the peer.
  IoResult write_by(Process& process, std::span<const std::byte> bytes, VirtualFilePtr& wait_for) override;
  IoResult read_async(std::uint64_t, std::size_t limit, std::vector<std::byte>& bytes) override {
    return read(limit, bytes);
  }
  std::optional<std::size_t> queued_input() const override { return readable_bytes(); }
  // Requests about interfaces (interface_requests.h).
  std::int64_t control_io(Process& process, std::uint64_t request, std::uint64_t address,
                          Instant now) override;
  bool supports_signals() const override { return true; }

  bool reuse_address = false;        // SO_REUSEADDR or SO_REUSEPORT
  std::map<int, int> plain_options;  // options of SOL_SOCKET that are only stored and returned
  bool reuses_port() const {
    const auto it = plain_options.find(SO_REUSEPORT);
    return it != plain_options.end() && it->second != 0;
  }
  ::linger linger{0, 0};
  bool pass_credentials = false;
  int timestamp_option = 0;  // SO_TIMESTAMP, SO_TIMESTAMPNS or their _NEW form, the last that was set; 0: none
  std::string interface;     // SO_BINDTODEVICE, without effect: every address is reached by one interface only
  int send_buffer = 212'992, receive_buffer = 212'992;  // values of SO_SNDBUF and SO_RCVBUF

 protected:
  void set_family(int family) { family_ = family; }

 private:
  int family_, type_;
};

}  // namespace verbatim::supervisor
