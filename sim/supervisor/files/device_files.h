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

// A queue of fixed-size event records that read(2) hands out, as many whole ones as fit.
template <class Event>
class EventFile : public VirtualFile {
 public:
  explicit EventFile(std::string description) : description_(std::move(description)) {}

  void push(const Event& event) {
    events_.push_back(event);
    notify();
  }

  std::uint32_t readiness() const override { return events_.empty() ? 0 : POLLIN | POLLRDNORM; }
  std::string describe() const override { return description_; }
  int access_mode() const override;

  IoResult read(std::size_t limit, std::vector<std::byte>& bytes) override;

 protected:
  bool tells_adapter_events() const override { return true; }

 private:
  std::string description_;
  std::deque<Event> events_;
};

using CompletionChannelFile = EventFile<protocol::CompletionEvent>;
using AsyncEventFile = EventFile<protocol::AsyncEvent>;

class DeviceContext;

// cmd_fd of an opened device: nothing is ever read from it.
class DeviceFile final : public VirtualFile {
 public:
  explicit DeviceFile(std::string device) : device_(std::move(device)) {}
  std::uint32_t readiness() const override { return 0; }
  std::string describe() const override { return "device " + device_; }

  // The opening that it stands for; set once.
  std::weak_ptr<DeviceContext> context;

 private:
  std::string device_;
};

// A device opened by one process: where the adapter's notifications for it go.
class DeviceContext final : public hca::EventListener {
 public:
  using Warn = std::function<void(const std::string&)>;
  using Written = std::function<void(std::uint32_t cq_number)>;

  DeviceContext(hca::Hca& hca, const hca::ProgramPort& program, Warn warn, Written written);
  ~DeviceContext() override { close(); }

  hca::Hca& hca() { return hca_; }
  std::uint32_t handle() const { return handle_; }
  bool open() const { return handle_ != 0; }
  void close();
  // The process that opened it: its memory is what the adapter reaches.
  std::uint32_t owner() const { return owner_; }
  // It has been imported once more, or one of those that use it closes it; true when none is left.
  void add_user() { ++users_; }
  bool remove_user() { return --users_ == 0; }

  const std::shared_ptr<AsyncEventFile>& async_file() const { return async_file_; }
  // The adapter's number for a completion channel; the same file always gets the same one.
  std::uint32_t channel_number(const std::shared_ptr<CompletionChannelFile>& file);

  void on_completion_event(std::uint32_t channel, const protocol::CompletionEvent& event) override;
  void on_async_event(std::uint32_t context, const protocol::AsyncEvent& event) override;
  void on_completion_written(std::uint32_t context, std::uint32_t cq_number) override;
  void on_dma_fault(std::uint32_t context, std::uint64_t va, std::uint64_t length) override;

 private:
  hca::Hca& hca_;
  Warn warn_;
  Written written_;
  std::uint32_t handle_ = 0;
  const std::uint32_t owner_;
  std::uint32_t users_ = 1;
  std::shared_ptr<AsyncEventFile> async_file_;
  std::vector<std::weak_ptr<CompletionChannelFile>> channels_;  // number - 1
};

}  // namespace verbatim::supervisor
