#include "sim/supervisor/files/device_files.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>

namespace verbatim::supervisor {

template <class Event>
int EventFile<Event>::access_mode() const {
  return O_RDONLY;
}

template <class Event>
IoResult EventFile<Event>::read(std::size_t limit, std::vector<std::byte>& bytes) {
  if (limit < sizeof(Event)) return -EINVAL;
  if (events_.empty()) return std::nullopt;
  while (!events_.empty() && bytes.size() + sizeof(Event) <= limit) {
    const auto raw = std::as_bytes(std::span(&events_.front(), 1));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
    events_.pop_front();
  }
  return static_cast<std::int64_t>(bytes.size());
}

template class EventFile<protocol::CompletionEvent>;
template class EventFile<protocol::AsyncEvent>;

DeviceContext::DeviceContext(hca::Hca& hca, const hca::ProgramPort& program, Warn warn, Written written)
    : hca_(hca),
      warn_(std::move(warn)),
      written_(std::move(written)),
      owner_(program.process),
      async_file_(std::make_shared<AsyncEventFile>("asynchronous events of " + hca.device_name())) {
  hca::ProgramPort port = program;
  port.listener = this;
  handle_ = hca_.open(port);
}

void DeviceContext::close() {
  if (handle_ == 0) return;
  hca_.close(handle_);
  handle_ = 0;
}

std::uint32_t DeviceContext::channel_number(const std::shared_ptr<CompletionChannelFile>& file) {
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    if (channels_[i].lock() == file) return static_cast<std::uint32_t>(i + 1);
  }
  channels_.push_back(file);
  return static_cast<std::uint32_t>(channels_.size());
}

void DeviceContext::on_completion_event(std::uint32_t channel, const protocol::CompletionEvent& event) {
  if (channel == 0 || channel > channels_.size()) return;
  if (const auto file = channels_[channel - 1].lock()) file->push(event);
}

void DeviceContext::on_async_event(std::uint32_t, const protocol::AsyncEvent& event) { async_file_->push(event); }

void DeviceContext::on_completion_written(std::uint32_t, std::uint32_t cq_number) { written_(cq_number); }

void DeviceContext::on_dma_fault(std::uint32_t, std::uint64_t va, std::uint64_t length) {
  warn_(fmt::format("the adapter's access to {} bytes at {:#x} hit memory that was registered and is no longer "
                    "mapped; deregister the region before it is unmapped",
                    length, va));
}

}  // namespace verbatim::supervisor
