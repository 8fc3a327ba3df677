// AF_UNIX sockets between programs of one host: stream, datagram and seqpacket, bound to a path or an
// abstract name, or as a pair. Messages arrive at once. A message carries its sender's credentials and
// optional descriptors.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "sim/supervisor/net/socket.h"

namespace verbatim::supervisor {

class UnixSocket;

// Bound sockets. A path is identified by its file, independent of links and working directories.
class UnixNetwork {
 public:
  using Key = std::pair<std::size_t, std::string>;  // host; "\0name" or "device:inode"

  std::shared_ptr<UnixSocket> find(const Key& key) const;
  // Whether the path or name of `key` is bound on another host and not on the host of `key`.
  bool bound_elsewhere(const Key& key) const;
  void bind(const Key& key, std::weak_ptr<UnixSocket> socket) { bound_[key] = std::move(socket); }
  void unbind(const Key& key, const UnixSocket* socket);
  // A free abstract name, as autobind assigns (unix(7)).
  std::string automatic_name(std::size_t host);

 private:
  std::map<Key, std::weak_ptr<UnixSocket>> bound_;
  std::map<std::size_t, std::uint32_t> named_;
};

// The path in a socket address; nullopt: it has none.
std::optional<std::string> path_of_unix_name(Socket::Name name);

class UnixSocket final : public Socket, public std::enable_shared_from_this<UnixSocket> {
 public:
  UnixSocket(UnixNetwork& network, Process& owner, int type);
  ~UnixSocket() override;
  static void connect_pair(UnixSocket& a, UnixSocket& b);

  std::uint32_t readiness() const override;
  std::string describe() const override;
  IoResult write(std::span<const std::byte> bytes) override;

  int bind(Process& process, Name name) override;
  int listen(Process& process, int backlog) override;
  IoResult connect(Process& process, Name name, bool again, VirtualFilePtr& wait_for) override;
  bool listening() const override { return listening_; }
  std::shared_ptr<Socket> accept() override;
  IoResult send(Process& process, OutgoingMessage& message) override;
  IoResult receive(std::size_t limit, bool peek, IncomingMessage& message) override;
  int shutdown(int how) override;
  int name(bool peer, std::vector<std::byte>& bytes) const override;
  std::size_t readable_bytes() const override;
  int take_error() override;
  ucred peer() const override { return peer_credentials_; }

 protected:
  void on_last_close() override;

 private:
  struct Message {
    std::vector<std::byte> bytes;
    std::size_t taken = 0;
    std::vector<std::byte> from;
    std::vector<PassedFile> files;
    ucred sender;
  };
  static constexpr std::size_t kQueueLength = 10;  // /proc/sys/net/unix/max_dgram_qlen

  std::shared_ptr<UnixSocket> target(Process& process, Name name, int* error) const;
  // False: a message from `sender` must wait.
  bool has_room_for(const UnixSocket& sender) const;
  bool is_too_large(std::size_t bytes) const {
    return type() != SOCK_STREAM && bytes + 32 > static_cast<std::size_t>(send_buffer);
  }
  IoResult put(Process* process, std::span<const std::byte> bytes, std::vector<PassedFile>& files,
               UnixSocket& to, VirtualFilePtr& wait_for);
  void take_message(std::size_t limit, bool peek, IncomingMessage& message);
  void take_bytes(std::size_t limit, bool peek, IncomingMessage& message);
  // Bytes of the sender's buffer that a message occupies in Linux.
  std::size_t charge_of(std::size_t bytes) const;
  Message take_front();
  bool peer_gone() const { return connected_ && (peer_.expired() || peer_.lock()->closed_); }

  UnixNetwork& network_;
  std::size_t host_;
  ucred credentials_;  // of the process that made, listened on or connected the socket
  ucred peer_credentials_{0, static_cast<uid_t>(-1), static_cast<gid_t>(-1)};
  std::vector<std::byte> local_name_, peer_name_;  // sockaddr_un
  std::optional<UnixNetwork::Key> key_;
  bool listening_ = false, connected_ = false, closed_ = false;
  bool read_closed_ = false, write_closed_ = false, reset_ = false;
  std::size_t backlog_ = 0;
  std::deque<std::shared_ptr<UnixSocket>> accepted_;
  std::weak_ptr<UnixSocket> peer_;
  std::deque<Message> queue_;
  std::size_t queued_ = 0;  // bytes in the queue, charged to the sender's buffer
};

}  // namespace verbatim::supervisor
