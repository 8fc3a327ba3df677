// What a person in gdb can ask of the fabric, by gdb's `monitor`: gdb holds the program itself, so the commands come by a socket
// that a part of it written in Python sends them to.
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
  // Outlives the monitor.
  explicit Monitor(const ComponentTable& components);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // Before gdb is started: what it needs is made. False: it cannot be, errno tells why.
  bool begin();
  // In the child that becomes gdb, which inherits what it needs: the file that it is to read.
  std::string hand_to_gdb() const;
  // In the run, once gdb has been started.
  void leave_to_gdb();

  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;

  // Answers what has been asked since the last call. True: gdb wants to begin anew at goes_back_to(), and this run is to end.
  bool serve(supervisor::HeldRun& run);
  std::optional<Instant> goes_back_to() const { return goes_back_to_; }
  // Then gdb's breakpoints are here. The file has no name and stays with the process when that executes itself again.
  std::string breakpoints() const;
  void keep_breakpoints() const;  // before it does

  // The answer to one command.
  std::string answer(const std::string& command, supervisor::HeldRun& run);

 private:
  // Opcode, destination queue pair, PSN.
  using PacketName = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
  struct Place {
    std::int64_t since_ps;
    std::uint32_t component;  // the port that has sent it, or the switch that it is in
    bool is_on_cable;
    std::uint64_t wire_bytes;
  };

  void follow_packet(const TraceRecord& record);
  std::string trace_text(const std::string& count) const;
  std::string packets_text() const;
  std::string go_back(const std::string& by, supervisor::HeldRun& run);

  const ComponentTable& components_;
  std::set<std::uint32_t> ports_of_switches_;
  std::deque<std::string> lines_;  // of the trace, the latest
  std::multimap<PacketName, Place> under_way_;
  int socket_ = -1, of_gdb_ = -1, script_ = -1, breakpoints_ = -1;
  std::string asked_;  // the beginning of a command
  std::optional<Instant> goes_back_to_;
};

}  // namespace verbatim::cli
