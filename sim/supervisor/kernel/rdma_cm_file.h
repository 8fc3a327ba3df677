// /dev/infiniband/rdma_cm, to which librdmacm writes commands (rdma/rdma_user_cm.h). One opening is one event
// channel: it owns the identifiers created through it, and queues their events.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "sim/cm/freedom.h"
#include "sim/cm/rdma_cm.h"
#include "sim/core/number_space.h"
#include "sim/supervisor/files/virtual_file.h"

namespace verbatim::supervisor {

class Process;

// Numbers of identifiers and multicast memberships, shared by all openings on a host.
class RdmaCmNumbers {
 public:
  std::uint32_t take(NumberChoice choice) {
    const std::uint32_t number = numbers_.take([this](std::uint32_t taken) { return in_use_.contains(taken); }, choice);
    in_use_.insert(number);
    return number;
  }
  void give_back(std::uint32_t number) {
    in_use_.erase(number);
    numbers_.give_back(number);
  }
  // Returns the number that was taken last, because its operation has failed: the next take() may return it.
  void undo(std::uint32_t number) {
    in_use_.erase(number);
    numbers_.undo(number);
  }

 private:
  NumberSpace numbers_{0, std::numeric_limits<std::uint32_t>::max()};
  std::set<std::uint32_t> in_use_;
};

class RdmaCmFile final : public VirtualFile, public cm::EventSink {
 public:
  // Both references outlive the file.
  RdmaCmFile(cm::RdmaCm& cm, RdmaCmNumbers& numbers) : cm_(cm), numbers_(numbers) {}

  std::uint32_t readiness() const override { return events_.empty() ? 0 : POLLIN | POLLRDNORM; }
  std::string describe() const override { return "rdma_cm event channel"; }
  RdmaCmFile* as_rdma_cm() override { return this; }
  bool reaches_beyond_host() const override { return true; }

  // Executes one command that `process` has written, and stores the response in its memory. nullopt: no event
  // yet.
  IoResult command(Process& process, std::span<const std::byte> bytes);
  IoResult write_by(Process& process, std::span<const std::byte> bytes, VirtualFilePtr&) override {
    return command(process, bytes);
  }
  bool keeps_boundaries() const override { return true; }
  bool takes_commands() const override { return true; }

  void on_event(cm::RdmaId& id, cm::Event&& event) override;

  // If the thread's last command has destroyed an identifier: the number of its events that were read;
  // librdmacm waits until all are acknowledged. Otherwise 0.
  std::uint32_t events_of_destroyed(pid_t native_tid) const { return destroyer_ == native_tid ? events_of_destroyed_ : 0; }

 protected:
  void on_last_close() override;
  // A system call of Linux keeps the file: a thread that waits for events goes on waiting when another one
  // closes the channel.
  bool ends_waits_at_close() const override { return false; }
  bool reports_adapter_events() const override { return true; }

 private:
  struct Context {
    std::unique_ptr<cm::RdmaId> id;
    std::uint64_t user_id = 0;
    std::uint32_t events_reported = 0;
  };
  // A multicast membership of a context; shares the number space of contexts.
  struct Group {
    std::uint32_t context;
    std::uint64_t user_id = 0;
    std::uint32_t events_reported = 0;
  };
  struct PendingEvent {
    std::uint32_t context;  // the recipient; for a connection request, the listener
    cm::Event event;
    std::uint64_t argument = 0;  // of an event that the program has written
  };
  struct Command {
    Process& process;
    std::span<const std::byte> in;
    std::uint16_t room;  // bytes for the response
  };

  // Loads the command's structure, and executes it with the identifier that its member `id` names.
  template <class Struct, class Execute>
  IoResult with_id(const Command& command, Execute execute);
  IoResult create_id(const Command& command);
  IoResult destroy_id(const Command& command);
  template <class Bind>
  IoResult bind(const Command& command);
  template <class Resolve>
  IoResult resolve_address(const Command& command);
  IoResult query_route(const Command& command);
  IoResult query(const Command& command);
  IoResult query_address(const Command& command, std::uint64_t response, const Context& context, bool gids);
  IoResult query_path(const Command& command, std::uint64_t response, const Context& context);
  IoResult connect(const Command& command);
  IoResult accept(const Command& command);
  IoResult reject(const Command& command);
  IoResult init_qp_attributes(const Command& command);
  IoResult get_event(const Command& command);
  IoResult set_option(const Command& command);
  IoResult set_path(cm::RdmaId& id, std::span<const std::byte> given);
  IoResult migrate(const Command& command);
  template <class Join>
  IoResult join(const Command& command);
  IoResult leave(const Command& command);
  IoResult write_event(const Command& command);

  Context* find(std::uint32_t number);
  std::uint32_t take_number() { return numbers_.take(cm_.choose_number(cm::freedom::kIdNumber)); }
  // Drops the multicast memberships of `context`, or all.
  void forget_groups(std::optional<std::uint32_t> context);
  std::uint32_t forget_events_of(std::uint32_t number);

  cm::RdmaCm& cm_;
  RdmaCmNumbers& numbers_;
  std::map<std::uint32_t, Context> contexts_;
  std::map<std::uint32_t, Group> groups_;
  std::deque<PendingEvent> events_;
  pid_t destroyer_ = 0;
  std::uint32_t events_of_destroyed_ = 0;
};

}  // namespace verbatim::supervisor
