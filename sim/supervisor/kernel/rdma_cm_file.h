// /dev/infiniband/rdma_cm: what librdmacm writes its commands to (rdma/rdma_user_cm.h). One opening is one event
// channel: it owns the identifiers made through it, and what happens to them is read as events.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>

#include "sim/cm/rdma_cm.h"
#include "sim/supervisor/files/virtual_file.h"

namespace verbatim::supervisor {

class Process;

// Identifiers' numbers, of all openings on a host.
struct RdmaCmNumbers {
  std::uint32_t next = 0;
};

class RdmaCmFile final : public VirtualFile, public cm::EventSink {
 public:
  // Both outlive it.
  RdmaCmFile(cm::RdmaCm& cm, RdmaCmNumbers& numbers) : cm_(cm), numbers_(numbers) {}

  std::uint32_t readiness() const override { return events_.empty() ? 0 : POLLIN | POLLRDNORM; }
  std::string describe() const override { return "rdma_cm event channel"; }
  bool reaches_beyond_host() const override { return true; }

  // One command, as `process` wrote it, whose memory gets the answer. Nothing: there is no event yet.
  IoResult command(Process& process, std::span<const std::byte> bytes);

  void on_event(cm::RdmaId& id, cm::Event&& event) override;

  // The thread's last command has destroyed an identifier: so many events of it have been read, and librdmacm waits until as many
  // are acknowledged. 0: its last command was another one.
  std::uint32_t events_of_destroyed(pid_t native_tid) const { return destroyer_ == native_tid ? events_of_destroyed_ : 0; }

 protected:
  void on_last_close() override;
  // As on Linux, whose call keeps the file: programs close the channel under a thread that waits for events, and end.
  bool ends_waits_at_close() const override { return false; }
  bool tells_adapter_events() const override { return true; }

 private:
  struct Context {
    std::unique_ptr<cm::RdmaId> id;
    std::uint64_t user_id = 0;
    std::uint32_t events_reported = 0;
  };
  // What a context has joined; numbered as contexts are.
  struct Group {
    std::uint32_t context;
    std::uint64_t user_id = 0;
    std::uint32_t events_reported = 0;
  };
  struct PendingEvent {
    std::uint32_t context;  // whose it is; of a connection request: the listener
    cm::Event event;
  };
  struct Command {
    Process& process;
    std::span<const std::byte> in;
    std::uint16_t room;  // for the answer
  };

  IoResult create_id(const Command& command);
  IoResult destroy_id(const Command& command);
  IoResult bind(const Command& command, bool ip);
  IoResult resolve_address(const Command& command, bool ip);
  IoResult resolve_route(const Command& command);
  IoResult query_route(const Command& command);
  IoResult query(const Command& command);
  IoResult query_address(const Command& command, std::uint64_t response, const Context& context, bool gids);
  IoResult query_path(const Command& command, std::uint64_t response, const Context& context);
  IoResult connect(const Command& command);
  IoResult listen(const Command& command);
  IoResult accept(const Command& command);
  IoResult reject(const Command& command);
  IoResult disconnect(const Command& command);
  IoResult init_qp_attributes(const Command& command);
  IoResult get_event(const Command& command);
  IoResult set_option(const Command& command);
  IoResult set_path(cm::RdmaId& id, std::span<const std::byte> given);
  IoResult notify_of(const Command& command);
  IoResult migrate(const Command& command);
  IoResult join(const Command& command, bool ip);
  IoResult leave(const Command& command);

  Context* find(std::uint32_t number);
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
