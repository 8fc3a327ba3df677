#include "sim/supervisor/files/device_files.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace verbatim::supervisor {

template <class Event>
int EventFile<Event>::access_mode() const {
  return O_RDONLY;
}

namespace {

std::uint64_t queue_of(const protocol::CompletionEvent& event) { return event.cookie; }
std::uint64_t queue_of(const protocol::AsyncEvent& event) { return event.element; }  // or a port number, which equals no cookie

}  // namespace

template <class Event>
void EventFile<Event>::forget(std::uint64_t cookie) {
  std::erase_if(events_, [cookie](const Event& event) { return queue_of(event) == cookie; });
}

template <class Event>
IoResult EventFile<Event>::read(std::size_t limit, std::vector<std::byte>& bytes) {
  if (limit < sizeof(Event)) return -EINVAL;
  if (events_.empty()) return has_ended_ ? IoResult(-EIO) : std::nullopt;
  while (!events_.empty() && bytes.size() + sizeof(Event) <= limit) {
    const auto raw = std::as_bytes(std::span(&events_.front(), 1));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
    events_.pop_front();
  }
  return static_cast<std::int64_t>(bytes.size());
}

template class EventFile<protocol::CompletionEvent>;
template class EventFile<protocol::AsyncEvent>;

std::uint32_t DeviceOpening::add_user(const hca::ProgramPort& program) {
  users_.push_back(program.process);
  if (first_context_ != 0) return hca_.share(first_context_, program);
  return first_context_ = hca_.open(program);
}

void DeviceOpening::remove_user(std::uint32_t owner) {
  if (const auto it = std::ranges::find(users_, owner); it != users_.end()) users_.erase(it);
}

bool DeviceOpening::is_shared_beyond(const DescriptorTable& process) const {
  if (std::ranges::any_of(users_, [&](std::uint32_t owner) { return owner != process.pid; })) return true;
  // One reference for each descriptor in any process, and for each message in flight that carries one.
  return file_.use_count() > std::ranges::count_if(process.files, [&](const auto& entry) { return is_mine(entry.second); });
}

void DeviceOpening::close_if_last(const DescriptorTable& process) {
  if (users_.empty() && file_.use_count() <= 1 && !is_shared_beyond(process)) close();
}

void DeviceOpening::close() {
  if (first_context_ != 0 && !closed_) hca_.close(first_context_);
  closed_ = true;
}

DeviceContext::DeviceContext(std::shared_ptr<DeviceOpening> opening, const hca::ProgramPort& program, Warn warn, Written written)
    : hca_(opening->hca()),
      opening_(std::move(opening)),
      opened_(opening_),
      warn_(std::move(warn)),
      written_(std::move(written)),
      owner_(program.process),
      async_file_(std::make_shared<AsyncEventFile>("asynchronous events of " + hca_.device_name())) {
  hca::ProgramPort port = program;
  port.listener = this;
  handle_ = opening_->add_user(port);
}

std::shared_ptr<DeviceOpening> DeviceContext::close() {
  if (opening_ == nullptr) return nullptr;
  hca_.leave(handle_);
  opening_->remove_user(owner_);
  return std::move(opening_);
}

void DeviceContext::keep_memory(const DescriptorTable& process, bool keeps_descriptors) {
  const auto opening = opened_.lock();
  if (opening == nullptr) return;
  const bool goes_on = opening->is_shared_beyond(process) || (keeps_descriptors && opening->has_descriptor());
  if (goes_on) hca_.keep_memory(handle_);
}

std::uint32_t DeviceContext::known_channel(const VirtualFilePtr& file) const {
  const auto is_file = [&](const auto& known) { return known.second.lock() == file; };
  const auto it = std::ranges::find_if(channels_, is_file);
  return it == channels_.end() ? 0 : it->first;
}

std::uint32_t DeviceContext::channel_number(const std::shared_ptr<CompletionChannelFile>& file) {
  if (const std::uint32_t number = known_channel(file); number != 0) return number;
  if (channels_.size() >= channels_to_sweep_) {
    std::erase_if(channels_, [](const auto& known) { return known.second.expired(); });
    channels_to_sweep_ = 2 * channels_.size() + kFewChannels;
  }
  channels_.emplace(++last_channel_, file);
  return last_channel_;
}

void DeviceContext::on_completion_event(std::uint32_t channel, const protocol::CompletionEvent& event) {
  if (const auto file = this->channel(channel)) file->push(event);
}

void DeviceContext::on_async_event(std::uint32_t, const protocol::AsyncEvent& event) {
  async_file_->push(event);
  if (event.event_type != static_cast<std::uint32_t>(ib::AsyncEventType::kDeviceFatal)) return;
  async_file_->end();
  for (const auto& [number, channel] : channels_) {
    if (const auto file = channel.lock()) file->end();
  }
}

void DeviceContext::on_queue_destroyed(std::uint64_t cookie) {
  async_file_->forget(cookie);
  for (const auto& [number, channel] : channels_) {
    if (const auto file = channel.lock()) file->forget(cookie);
  }
}

void DeviceContext::on_completion_written(std::uint32_t, std::uint32_t cq_number) { written_(cq_number); }

void DeviceContext::on_dma_fault(std::uint32_t, std::uint64_t va, std::uint64_t length) {
  warn_(fmt::format("the adapter's access to {} bytes at {:#x} hit memory that was registered and is no longer "
                    "mapped; deregister the region before it is unmapped",
                    length, va));
}

}  // namespace verbatim::supervisor
