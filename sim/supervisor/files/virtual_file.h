// An open file description of the simulated kernel, shared by descriptors that were duplicated from one
// another.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/core/time.h"

namespace verbatim::supervisor {

// A thread that waits for files, or another object that follows their changes.
class Waiter {
 public:
  // A file may have become ready. `by_adapter_event`: through an event of an adapter.
  virtual void wake(bool by_adapter_event = false) = 0;

 protected:
  ~Waiter() = default;
};

// Result of an operation: nullopt if it must wait, otherwise a value or -errno.
using IoResult = std::optional<std::int64_t>;

class VirtualFile {
 public:
  virtual ~VirtualFile();

  // POLLIN, POLLOUT, POLLHUP, POLLERR, POLLRDHUP as poll(2) would report.
  virtual std::uint32_t readiness() const = 0;
  // Short description for messages about blocked threads, for example "completion channel".
  virtual std::string describe() const = 0;

  // Appends at most `limit` bytes to `bytes`; 0: end of file.
  virtual IoResult read(std::size_t limit, std::vector<std::byte>& bytes);
  virtual IoResult write(std::span<const std::byte> bytes);
  // A descriptor was duplicated or closed; the last close ends the object behind the file.
  void add_descriptor() { ++descriptors_; }
  void drop_descriptor();

  bool nonblocking() const { return nonblocking_; }
  void set_nonblocking(bool on) { nonblocking_ = on; }
  // True if an operation on the file may have an immediate effect outside of the host: on an adapter, or in
  // the run's output.
  virtual bool reaches_beyond_host() const { return false; }
  // O_RDONLY, O_WRONLY or O_RDWR, as fcntl(F_GETFL).
  virtual int access_mode() const;
  // st_mode.
  virtual std::uint32_t mode() const;
  // st_ino; 0: not yet assigned.
  std::uint64_t number() const { return number_; }
  void set_number(std::uint64_t number) { number_ = number; }
  // st_rdev of a character device; 0: not a device.
  std::uint64_t device() const { return device_; }
  void set_device(std::uint64_t device) { device_ = device; }
  // Timeouts of reads and writes (SO_RCVTIMEO, SO_SNDTIMEO); zero: none.
  Duration read_timeout{}, write_timeout{};

  // Waiters are woken in the order in which they were added.
  void add_waiter(Waiter& waiter);
  void remove_waiter(Waiter& waiter);
  // Optional waiter that is notified of every change as long as the file is open.
  const std::shared_ptr<Waiter>& follower() const { return follower_; }
  void set_follower(std::shared_ptr<Waiter> follower) { follower_ = std::move(follower); }
  // Counts changes that may have made the file more ready; edge-triggered epoll compares it.
  std::uint64_t generation() const { return generation_; }
  // Counts as a new change: edge-triggered epoll reports the file again.
  void report_again() { notify(); }

 protected:
  virtual void on_last_close() {}
  // True if waiting threads are woken when another thread closes the last descriptor.
  virtual bool ends_waits_at_close() const { return true; }
  // True if the file becomes readable by an event of an adapter: a woken thread runs after the profile's
  // event_wake_up.
  virtual bool reports_adapter_events() const { return false; }
  // The file's readiness has changed: waiters retry.
  void notify();

 private:
  std::vector<Waiter*> waiters_;
  std::shared_ptr<Waiter> follower_;
  std::uint64_t generation_ = 0;
  int descriptors_ = 0;
  bool nonblocking_ = false;
  std::uint64_t number_ = 0;
  std::uint64_t device_ = 0;
};

using VirtualFilePtr = std::shared_ptr<VirtualFile>;

// The virtual descriptors of the process with this virtual pid.
struct DescriptorTable {
  std::uint32_t pid;
  const std::map<int, VirtualFilePtr>& files;
};

// stdout or stderr of a program; each write completes at once.
class OutputFile final : public VirtualFile {
 public:
  explicit OutputFile(int stream) : stream_(stream) {}
  int stream() const { return stream_; }  // 1 or 2
  std::uint32_t readiness() const override { return POLLOUT; }
  std::string describe() const override { return stream_ == 1 ? "stdout" : "stderr"; }
  bool reaches_beyond_host() const override { return true; }
  int access_mode() const override;
  std::uint32_t mode() const override;

 private:
  int stream_;
};

}  // namespace verbatim::supervisor
