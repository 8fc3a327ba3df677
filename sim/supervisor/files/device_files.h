// Descriptors of verbs: opened devices, asynchronous events, completion channels.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "sim/hca/hca.h"
#include "sim/supervisor/files/virtual_file.h"
#include "verbs_shim/protocol/commands.h"

namespace verbatim::supervisor {

// A queue of fixed-size event records; read(2) returns as many whole records as fit. After the device has
// failed and all records are read, read returns EIO and poll(2) still waits (Linux: ib_uverbs_event_read,
// ib_uverbs_event_poll).
template <class Event>
class EventFile : public VirtualFile {
 public:
  explicit EventFile(std::string description) : description_(std::move(description)) {}

  void push(const Event& event) {
    events_.push_back(event);
    notify();
  }
  // Drops unread events of the object with `cookie` (Linux: ib_uverbs_release_uevent, ib_uverbs_release_ucq).
  void forget(std::uint64_t cookie);
  // The device has failed: no further events.
  void end() {
    has_ended_ = true;
    notify();
  }

  std::uint32_t readiness() const override { return events_.empty() ? 0 : POLLIN | POLLRDNORM; }
  std::string describe() const override { return description_; }
  bool reaches_beyond_host() const override { return true; }
  int access_mode() const override;

  IoResult read(std::size_t limit, std::vector<std::byte>& bytes) override;

 protected:
  bool reports_adapter_events() const override { return true; }

 private:
  std::string description_;
  std::deque<Event> events_;
  bool has_ended_ = false;
};

using CompletionChannelFile = EventFile<protocol::CompletionEvent>;
using AsyncEventFile = EventFile<protocol::AsyncEvent>;

class DeviceOpening;

// cmd_fd of an opened device; it is never readable.
class DeviceFile final : public VirtualFile {
 public:
  explicit DeviceFile(std::string device) : device_(std::move(device)) {}
  std::uint32_t readiness() const override { return 0; }
  std::string describe() const override { return "device " + device_; }
  bool reaches_beyond_host() const override { return true; }

  // The opening behind it; set once. nullptr if the device was not opened through verbs.
  std::shared_ptr<DeviceOpening> opening;

 private:
  std::string device_;
};

// An opening of a device (Linux: struct ib_uverbs_file), shared by all processes that receive or inherit its
// descriptor. It ends, with all its objects, when no descriptor of it exists in a process or in a message,
// and no process uses it. A use keeps it open as a mapping of the device's registers does in Linux.
class DeviceOpening {
 public:
  explicit DeviceOpening(hca::Hca& hca) : hca_(hca) {}
  ~DeviceOpening() { close(); }
  DeviceOpening(const DeviceOpening&) = delete;
  DeviceOpening& operator=(const DeviceOpening&) = delete;

  hca::Hca& hca() { return hca_; }
  // The file of its descriptor; set once.
  void set_file(const std::shared_ptr<DeviceFile>& file) { file_ = file; }

  // A process begins to use the opening (returns the adapter's context number), or stops.
  std::uint32_t add_user(const hca::ProgramPort& program);
  void remove_user(std::uint32_t owner);
  // True if another process uses it or has a descriptor, or a message may carry one.
  bool is_shared_beyond(const DescriptorTable& process) const;
  bool has_descriptor() const { return !file_.expired(); }
  // Ends it if no process uses it and `process` holds the only descriptor and is about to close it
  // (ibv_close_device(3)).
  void close_if_last(const DescriptorTable& process);

 private:
  void close();
  bool is_mine(const VirtualFilePtr& file) const { return !file_.expired() && file == file_.lock(); }

  hca::Hca& hca_;
  std::weak_ptr<DeviceFile> file_;
  std::vector<std::uint32_t> users_;  // process ids, one for each context
  std::uint32_t first_context_ = 0;   // exists as long as the opening
  bool closed_ = false;
};

// One process's use of an opened device; receives the adapter's notifications for it.
class DeviceContext final : public hca::EventListener {
 public:
  using Warn = std::function<void(const std::string&)>;
  // Called when the adapter has written a completion.
  using Written = std::function<void(std::uint32_t cq_number)>;

  DeviceContext(std::shared_ptr<DeviceOpening> opening, const hca::ProgramPort& program, Warn warn, Written written);
  ~DeviceContext() override { close(); }

  hca::Hca& hca() { return hca_; }
  std::uint32_t handle() const { return handle_; }
  // Whether close() has not been called.
  bool is_open() const { return opening_ != nullptr; }
  // The process stops using the device. Its objects exist as long as the opening, which is returned
  // (nullptr: already closed).
  std::shared_ptr<DeviceOpening> close();
  // The process ends, or has ended, and closes its descriptors unless it `keeps_descriptors` (exec).
  // Preserves the contents of registered memory if the opening continues to exist.
  void keep_memory(const DescriptorTable& process, bool keeps_descriptors);
  // The process that uses it: the adapter accesses its memory.
  std::uint32_t owner() const { return owner_; }

  const std::shared_ptr<AsyncEventFile>& async_file() const { return async_file_; }
  // The adapter's number for a completion channel; assigns one at the first call for a file.
  std::uint32_t channel_number(const std::shared_ptr<CompletionChannelFile>& file);
  // The number assigned by channel_number(); 0: none.
  std::uint32_t known_channel(const VirtualFilePtr& file) const;
  // nullptr: no such channel, or it is closed.
  std::shared_ptr<CompletionChannelFile> channel(std::uint32_t number) const {
    const auto it = channels_.find(number);
    return it == channels_.end() ? nullptr : it->second.lock();
  }

  // Recorded channels, including closed ones, are at most twice the maximum number open at a time, plus this.
  static constexpr std::size_t kFewChannels = 16;

  // For the leak check: return addresses of the calls that created its existing regions (true) and PDs
  // (false), by handle.
  std::map<std::pair<bool, std::uint32_t>, std::uint64_t> made_at;

  void on_completion_event(std::uint32_t channel, const protocol::CompletionEvent& event) override;
  void on_async_event(std::uint32_t context, const protocol::AsyncEvent& event) override;
  void on_queue_destroyed(std::uint64_t cookie) override;
  void on_completion_written(std::uint32_t context, std::uint32_t cq_number) override;
  void on_dma_fault(std::uint32_t context, std::uint64_t va, std::uint64_t length) override;

 private:
  hca::Hca& hca_;
  std::shared_ptr<DeviceOpening> opening_;  // nullptr: closed
  std::weak_ptr<DeviceOpening> opened_;     // also valid after close()
  Warn warn_;
  Written written_;
  const std::uint32_t owner_;
  std::uint32_t handle_ = 0;
  std::shared_ptr<AsyncEventFile> async_file_;
  // By number, from 1. Numbers appear in the trace and are never reused. Closed channels are removed as new
  // ones are added.
  std::map<std::uint32_t, std::weak_ptr<CompletionChannelFile>> channels_;
  std::uint32_t last_channel_ = 0;
  std::size_t channels_to_sweep_ = kFewChannels;  // size at which closed channels are removed
};

}  // namespace verbatim::supervisor
