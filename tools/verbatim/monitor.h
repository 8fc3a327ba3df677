// Commands of `monitor` in gdb, which show the fabric. gdb holds the program itself, so the commands arrive through a
// socket from Python code in gdb.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sim/core/trace.h"
#include "sim/supervisor/spec/held_run.h"

namespace verbatim::cli {

class Monitor final : public TraceSink {
 public:
  // `components` must outlive the monitor.
  explicit Monitor(const ComponentTable& components);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // Prepares for gdb before it is started. Returns false, with errno set, on failure.
  bool begin();
  // Called in the child that becomes gdb, which inherits the descriptors; returns the file that gdb must
  // read.
  std::string hand_to_gdb() const;
  // Called in the run after gdb has been started.
  void leave_to_gdb();

  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;

  // Answers pending commands. Returns true if gdb wants to restart the run at goes_back_to(), so this run
  // must end.
  bool serve(supervisor::HeldRun& run);
  std::optional<Instant> goes_back_to() const { return goes_back_to_; }
  // After that, the file with gdb's breakpoints. It has no name and remains open when the process executes
  // itself again.
  std::string breakpoints() const;
  void keep_breakpoints() const;  // call before that

  // The reply to one command.
  std::string answer(const std::string& command, supervisor::HeldRun& run);

 private:
  // Opcode, destination queue pair, PSN.
  using PacketName = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
  struct Place {
    std::int64_t since_ps;
    std::uint32_t component;  // the port that sent it, or the switch that holds it
    bool is_on_cable;
    std::uint64_t wire_bytes;
  };

  void follow_packet(const TraceRecord& record);
  std::string trace_text(const std::string& count) const;
  std::string packets_text() const;
  std::string go_back(const std::string& by, supervisor::HeldRun& run);

  const ComponentTable& components_;
  std::set<std::uint32_t> ports_of_switches_;
  std::deque<std::string> lines_;  // latest lines of the trace
  std::multimap<PacketName, Place> under_way_;
  int socket_ = -1, of_gdb_ = -1, script_ = -1, breakpoints_ = -1;
  std::string asked_;  // beginning of a command
  std::optional<Instant> goes_back_to_;
};

}  // namespace verbatim::cli
