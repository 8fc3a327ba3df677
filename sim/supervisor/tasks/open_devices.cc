#include "sim/supervisor/tasks/open_devices.h"

#include <algorithm>
#include <utility>

#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

std::uint32_t OpenDevices::add(std::shared_ptr<DeviceContext> context) {
  contexts_.push_back(std::move(context));
  return static_cast<std::uint32_t>(contexts_.size());
}

DeviceContext* OpenDevices::find(std::uint32_t number) const {
  return number >= 1 && number <= contexts_.size() ? contexts_[number - 1].get() : nullptr;
}

DeviceContext* OpenDevices::find_own(std::uint32_t number) const {
  DeviceContext* const context = find(number);
  return context != nullptr && context->is_open() && context->owner() == process_.pid() ? context : nullptr;
}

std::vector<DeviceContext*> OpenDevices::own() const {
  std::vector<DeviceContext*> found;
  for (const auto& context : contexts_) {
    if (context->is_open() && context->owner() == process_.pid()) found.push_back(context.get());
  }
  return found;
}

bool OpenDevices::has_own() const {
  return std::ranges::any_of(contexts_, [this](const auto& context) { return context->owner() == process_.pid(); });
}

void OpenDevices::keep_memory(bool keeps_descriptors) {
  for (const auto& context : contexts_) {
    if (context->owner() == process_.pid()) context->keep_memory(process_.files().table(), keeps_descriptors);
  }
}

void OpenDevices::close_own(bool keeps_descriptors) {
  keep_memory(keeps_descriptors);
  for (const auto& context : contexts_) {
    if (context->owner() == process_.pid()) context->close();
  }
}

}  // namespace verbatim::supervisor
