// The verbs devices that a process has opened, and those inherited from the process of which it is a copy.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace verbatim::supervisor {

class DeviceContext;
class Process;

class OpenDevices {
 public:
  explicit OpenDevices(Process& process) : process_(process) {}

  bool empty() const { return contexts_.empty(); }
  // The program names a context by its number, from 1 in the order in which they were added.
  std::uint32_t add(std::shared_ptr<DeviceContext> context);
  // The number of the context that is added next.
  std::uint32_t next_number() const { return static_cast<std::uint32_t>(contexts_.size()) + 1; }
  // The context with this number; nullptr: none.
  DeviceContext* find(std::uint32_t number) const;
  // As find(), if the context is open and not inherited.
  DeviceContext* find_own(std::uint32_t number) const;
  // The open contexts that are not inherited, by number.
  std::vector<DeviceContext*> own() const;
  // Whether the process has opened one itself; it may have closed it since.
  bool has_own() const;

  // For a process created by fork.
  void inherit(const OpenDevices& parent) { contexts_ = parent.contexts_; }
  // The process's memory is about to be unmapped. Keeps the parts that others can reach through an adapter.
  // `keeps_descriptors`: see DeviceContext::keep_memory().
  void keep_memory(bool keeps_descriptors = false);
  // Closes those that are not inherited, at the end of the process, or at exec, which keeps descriptors.
  void close_own(bool keeps_descriptors = false);
  void clear() { contexts_.clear(); }

 private:
  Process& process_;
  std::vector<std::shared_ptr<DeviceContext>> contexts_;
};

}  // namespace verbatim::supervisor
