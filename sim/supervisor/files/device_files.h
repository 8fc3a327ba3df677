// Descriptors of the verbs world: an opened device, its asynchronous events, completion channels.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "sim/hca/hca.h"
#include "sim/supervisor/files/virtual_file.h"
#include "verbs_shim/protocol/commands.h"

namespace verbatim::supervisor {

// A queue of fixed-size event records that read(2) hands out, as many whole ones as fit. When the device is gone and no record
// is left, a read ends with EIO, and poll(2) still waits (Linux: ib_uverbs_event_read, ib_uverbs_event_poll).
template <class Event>
class EventFile : public VirtualFile {
 public:
  explicit EventFile(std::string description) : description_(std::move(description)) {}

  void push(const Event& event) {
    events_.push_back(event);
    notify();
  }
  // What nobody has read of it is dropped (Linux: ib_uverbs_release_uevent, ib_uverbs_release_ucq).
  void forget(std::uint64_t cookie);
  // Nothing will come any more.
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
  bool tells_adapter_events() const override { return true; }

 private:
  std::string description_;
  std::deque<Event> events_;
  bool has_ended_ = false;
};

using CompletionChannelFile = EventFile<protocol::CompletionEvent>;
using AsyncEventFile = EventFile<protocol::AsyncEvent>;

class DeviceOpening;

// cmd_fd of an opened device: nothing is ever read from it.
class DeviceFile final : public VirtualFile {
 public:
  explicit DeviceFile(std::string device) : device_(std::move(device)) {}
  std::uint32_t readiness() const override { return 0; }
  std::string describe() const override { return "device " + device_; }
  bool reaches_beyond_host() const override { return true; }

  // What it stands for; set once, and null where the device was not opened through verbs.
  std::shared_ptr<DeviceOpening> opening;

 private:
  std::string device_;
};

// An opening of a device, as its descriptor goes from process to process: it ends, and with it every object of it, when no
// process has a descriptor of it (or a message one under way) and none uses it, as a mapping of the device's registers would
// show (Linux: struct ib_uverbs_file).
class DeviceOpening {
 public:
  explicit DeviceOpening(hca::Hca& hca) : hca_(hca) {}
  ~DeviceOpening() { close(); }
  DeviceOpening(const DeviceOpening&) = delete;
  DeviceOpening& operator=(const DeviceOpening&) = delete;

  hca::Hca& hca() { return hca_; }
  // The descriptor that it was opened by; set once.
  void set_file(const std::shared_ptr<DeviceFile>& file) { file_ = file; }

  // A process uses it from now on, or no more: the adapter's number for its context.
  std::uint32_t add_user(const hca::ProgramPort& program);
  void remove_user(std::uint32_t owner);
  // Another process than this one uses it, has a descriptor, or may be sent one.
  bool is_shared_beyond(const DescriptorTable& process) const;
  bool has_descriptor() const { return !file_.expired(); }
  // Ends it if nobody uses it and `process` has the only descriptor, which it is about to close (ibv_close_device(3)).
  void close_if_last(const DescriptorTable& process);

 private:
  void close();
  bool is_mine(const VirtualFilePtr& file) const { return !file_.expired() && file == file_.lock(); }

  hca::Hca& hca_;
  std::weak_ptr<DeviceFile> file_;
  std::vector<std::uint32_t> users_;  // pids, one for each context
  std::uint32_t first_context_ = 0;   // which lasts as long as the opening
  bool closed_ = false;
};

// A process's use of an opened device: where the adapter's notifications for it go.
class DeviceContext final : public hca::EventListener {
 public:
  using Warn = std::function<void(const std::string&)>;
  using Written = std::function<void(std::uint32_t cq_number)>;

  DeviceContext(std::shared_ptr<DeviceOpening> opening, const hca::ProgramPort& program, Warn warn, Written written);
  ~DeviceContext() override { close(); }

  hca::Hca& hca() { return hca_; }
  std::uint32_t handle() const { return handle_; }
  bool open() const { return opening_ != nullptr; }
  // The process uses it no more. What it has made stays as long as the opening does, which is given back.
  std::shared_ptr<DeviceOpening> close();
  // Its process is about to end, or has, with its descriptors unless it `keeps` them: what the memory holds that it registered
  // is kept for others.
  void keep_memory(const DescriptorTable& process, bool keeps_descriptors);
  // The process whose use it is: its memory is what the adapter reaches.
  std::uint32_t owner() const { return owner_; }

  const std::shared_ptr<AsyncEventFile>& async_file() const { return async_file_; }
  // The adapter's number for a completion channel; the same file always gets the same one.
  std::uint32_t channel_number(const std::shared_ptr<CompletionChannelFile>& file);
  // 0: it is none of this context's.
  std::uint32_t known_channel(const std::shared_ptr<CompletionChannelFile>& file) const;
  // The channel of that number; null: there is none, or it is closed.
  std::shared_ptr<CompletionChannelFile> channel(std::uint32_t number) const {
    const auto it = channels_.find(number);
    return it == channels_.end() ? nullptr : it->second.lock();
  }

  // Channels that are kept in mind, closed ones among them: no more than twice those that have been open at a time, and a few.
  std::size_t known_channels() const { return channels_.size(); }
  static constexpr std::size_t kFewChannels = 16;

  // Where in the program its regions (true) and domains were made that are there, by handle, if leaks are looked for.
  std::map<std::pair<bool, std::uint32_t>, std::uint64_t> made_at;

  void on_completion_event(std::uint32_t channel, const protocol::CompletionEvent& event) override;
  void on_async_event(std::uint32_t context, const protocol::AsyncEvent& event) override;
  void on_queue_destroyed(std::uint64_t cookie) override;
  void on_completion_written(std::uint32_t context, std::uint32_t cq_number) override;
  void on_dma_fault(std::uint32_t context, std::uint64_t va, std::uint64_t length) override;

 private:
  hca::Hca& hca_;
  std::shared_ptr<DeviceOpening> opening_;  // null: closed
  std::weak_ptr<DeviceOpening> opened_;     // also then
  Warn warn_;
  Written written_;
  const std::uint32_t owner_;
  std::uint32_t handle_ = 0;
  std::shared_ptr<AsyncEventFile> async_file_;
  // By number, from 1; no number comes twice, as the trace has them. Closed ones are forgotten when others come.
  std::map<std::uint32_t, std::weak_ptr<CompletionChannelFile>> channels_;
  std::uint32_t last_channel_ = 0;
  std::size_t channels_to_sweep_ = kFewChannels;  // closed ones are looked for among so many
};

}  // namespace verbatim::supervisor
