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
#include "sim/supervisor/files/wait_queue.h"

namespace verbatim::supervisor {

class EpollFile;
class Pipe;
class Process;
class RdmaCmFile;
class SignalFile;
class TcpSocket;
class TerminalFile;
class TerminalMaster;

// Result of an operation: nullopt if it must wait, otherwise a value or -errno.
using IoResult = std::optional<std::int64_t>;

class VirtualFile {
 public:
  virtual ~VirtualFile() = default;

  // POLLIN, POLLOUT, POLLHUP, POLLERR, POLLRDHUP as poll(2) would report.
  virtual std::uint32_t readiness() const = 0;
  // Short description for messages about blocked threads, for example "completion channel".
  virtual std::string describe() const = 0;

  // False: epoll refuses the file. poll and select find it ready for everything.
  virtual bool can_be_polled() const { return true; }

  // Appends at most `limit` bytes to `bytes`; 0: end of file.
  virtual IoResult read(std::size_t limit, std::vector<std::byte>& bytes);
  virtual IoResult write(std::span<const std::byte> bytes);

  // Operations that only some kinds of files have. The default returns the error of files without the
  // operation.
  //
  // write() by a process. `wait_for`: the file to wait for if there is no room; unchanged: this file.
  virtual IoResult write_by(Process& process, std::span<const std::byte> bytes,
                            std::shared_ptr<VirtualFile>& wait_for);
  // A write is one message, which is never continued.
  virtual bool keeps_boundaries() const { return false; }
  // A write is a command, read once from program memory.
  virtual bool takes_commands() const { return false; }
  // 1 or 2: a write goes to stdout or stderr of the run.
  virtual int output_stream() const { return 0; }
  // lseek(2): the new position or -errno.
  virtual std::int64_t seek(std::int64_t offset, int whence);
  // pread(2).
  virtual std::int64_t read_at(std::uint64_t position, std::size_t limit, std::vector<std::byte>& bytes);
  // Read of asynchronous input and output, at `position` if the file has positions.
  virtual IoResult read_async(std::uint64_t position, std::size_t limit, std::vector<std::byte>& bytes);
  // getdents64(2): as many records as fit; -EINVAL if the first does not fit.
  virtual std::int64_t entries(std::size_t limit, std::vector<std::byte>& bytes);
  // FIONREAD; nullopt: ENOTTY.
  virtual std::optional<std::size_t> queued_input() const { return std::nullopt; }
  // Other requests of ioctl(2), with output to memory of the process: the result or -errno.
  virtual std::int64_t control_io(Process& process, std::uint64_t request, std::uint64_t address,
                                  Instant now);
  // O_ASYNC: changes may send signals.
  virtual bool supports_signals() const { return false; }
  // Path in the trees of the host; empty: none. No thread waits for a file with such a path.
  virtual const std::string& tree_path() const;
  // Text of its link in /proc/PID/fd; empty: the usual text for its mode.
  virtual std::string link_text() const { return {}; }
  // This file if it is of that kind; else nullptr.
  virtual EpollFile* as_epoll() { return nullptr; }
  virtual Pipe* as_pipe() { return nullptr; }
  virtual RdmaCmFile* as_rdma_cm() { return nullptr; }
  virtual SignalFile* as_signal_file() { return nullptr; }
  virtual TcpSocket* as_tcp_socket() { return nullptr; }
  virtual TerminalFile* as_terminal() { return nullptr; }
  virtual TerminalMaster* as_terminal_master() { return nullptr; }

  // A descriptor was duplicated or closed; the last close ends the object behind the file.
  void add_descriptor() { ++descriptors_; }
  void drop_descriptor();
  // Process `pid` closes one of its descriptors, before drop_descriptor().
  virtual void on_close_by(std::uint32_t /*pid*/) {}

  bool nonblocking() const { return nonblocking_; }
  void set_nonblocking(bool on) { nonblocking_ = on; }
  // Whether an operation on the file may have an immediate effect outside the host: on an adapter or in the
  // run's output.
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

  // The threads that wait for the file, and its optional follower.
  WaitQueue wait_queue;
  // Makes edge-triggered epoll report the file again.
  void report_again() { notify(); }

 protected:
  virtual void on_last_close() {}
  // True if waiting threads are woken when another thread closes the last descriptor.
  virtual bool ends_waits_at_close() const { return true; }
  // True if the file becomes readable by an event of an adapter: a woken thread runs after the profile's
  // event_wake_up.
  virtual bool reports_adapter_events() const { return false; }
  // The file's readiness has changed: waiters retry.
  void notify() { wait_queue.wake(reports_adapter_events()); }

 private:
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
  int output_stream() const override { return stream_; }
  std::uint32_t readiness() const override { return POLLOUT; }
  std::string describe() const override { return stream_ == 1 ? "stdout" : "stderr"; }
  bool reaches_beyond_host() const override { return true; }
  int access_mode() const override;
  std::uint32_t mode() const override;

 private:
  int stream_;
};

}  // namespace verbatim::supervisor
