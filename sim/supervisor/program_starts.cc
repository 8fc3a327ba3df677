#include "sim/supervisor/program_starts.h"

#include <fmt/format.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/process_factory.h"
#include "sim/supervisor/process_lifetimes.h"
#include "sim/supervisor/process_list.h"
#include "sim/supervisor/run_files.h"
#include "sim/supervisor/run_report.h"
#include "sim/supervisor/slice_horizon.h"
#include "verbs_shim/protocol/path_view.h"
#include "verbs_shim/protocol/remote_shell.h"

namespace verbatim::supervisor {

// Timers of one program of the scenario, or of one process that is started later for the program.
struct ProgramStarts::Start {
  Start(ProgramStarts& starts, std::size_t program, ComponentId component,
        std::optional<ProgramSpec> later = std::nullopt)
      : owner(starts),
        index(program),
        spec(std::move(later)),
        timer(Timer::of<&Start::on_due>(starts.run_.engine, component, EventClass::kProgram, this)),
        // kSupervisor: this class ends every slice before its time, on every host.
        kill(Timer::of<&Start::on_kill>(starts.run_.engine, component, EventClass::kSupervisor, this)) {}

  void on_due() { spec ? owner.start_later_process(*this) : owner.start_program(index); }
  void on_kill() { owner.parts_.lifetimes.kill_program(index); }

  ProgramStarts& owner;
  const std::size_t index;
  const std::optional<ProgramSpec> spec;
  Timer timer, kill;
};

ProgramStarts::ProgramStarts(const RunContext& run, const Parts& parts) : run_(run), parts_(parts) {}

ProgramStarts::~ProgramStarts() = default;

void ProgramStarts::add(const ProgramSpec& spec) {
  starts_.push_back(std::make_unique<Start>(*this, starts_.size(), run_.hosts[spec.host].component));
  Start& start = *starts_.back();
  parts_.horizon.add_start(spec.host, start.timer);
  start.timer.schedule_at(spec.start);
  if (spec.kill != kNever) start.kill.schedule_at(spec.kill);
  ++left_;
}

void ProgramStarts::cancel_kill(std::size_t program) { starts_[program]->kill.cancel(); }

void ProgramStarts::start_program(std::size_t index) {
  const ProgramSpec& spec = parts_.report.programs()[index];
  --left_;
  if (spec.background && parts_.processes.is_foreground_over()) return;
  const bool is_started = parts_.factory.launch(spec, index, parts_.processes.first_pid(index),
                                                fmt::format("program/{}", index)) != nullptr;
  ProgramResult& result = parts_.report.result().programs[index];
  if (is_started) {
    result.started = true;
  } else {
    result.exited = true;
    result.exit_code = 127;
  }
}

int ProgramStarts::add_remote(Thread& asking, std::uint32_t address, std::uint16_t port) {
  const std::size_t from = asking.process().host_index();
  const bool is_loopback = address >> 24 == 127;
  const int found = parts_.kernel.host_of(IpAddress::v4(address), from);
  if (found < 0) return -EHOSTUNREACH;
  if (port == 0) return -EINVAL;
  const std::size_t host = static_cast<std::size_t>(found);
  const std::uint32_t own = is_loopback ? address : run_.hosts[from].address;
  const std::string near = fmt::format("{}.{}.{}.{}", own >> 24, own >> 16 & 255, own >> 8 & 255, own & 255);
  ProgramSpec spec;
  spec.host = host;
  spec.arguments = {VERBATIM_SSHD_PATH, near, std::to_string(port)};
  spec.environment = {{"USER", "root"},
                      {"LOGNAME", "root"},
                      {"SHELL", "/bin/sh"},
                      {"SSH_CONNECTION", fmt::format("{} {} {} 22", near, port, near)}};
  spec.working_directory = protocol::kHome;
  spec.start = run_.engine.now() + parts_.kernel.network_latency(from, host) +
               Duration(run_.hosts[host].costs.wake_up_ps);
  add_later(std::move(spec), asking.process().program());
  return 0;
}

void ProgramStarts::add_later(ProgramSpec spec, std::size_t index) {
  const std::size_t host = spec.host;
  parts_.files.add_host(host, parts_.report.programs());
  starts_.push_back(std::make_unique<Start>(*this, index, run_.hosts[host].component, std::move(spec)));
  Start& start = *starts_.back();
  parts_.horizon.add_start(host, start.timer);
  start.timer.schedule_at(start.spec->start);
  ++left_;
  parts_.processes.expect_process_of(index);
}

void ProgramStarts::start_later_process(Start& start) {
  --left_;
  parts_.horizon.remove_start(start.spec->host, start.timer);
  const std::uint32_t pid = parts_.processes.new_pid();
  Process* const process =
      parts_.factory.launch(*start.spec, start.index, pid, fmt::format("process/{}", pid));
  if (process == nullptr) return;
  parts_.processes.expected_process_started(start.index);
  process->family().first_of_program = false;
}

}  // namespace verbatim::supervisor
