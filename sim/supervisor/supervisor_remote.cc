// Programs that programs start on other hosts: `ssh` requests its server half, which is launched there like a
// first process and connects back to the requester (tools/remote).
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "sim/supervisor/machine/launcher.h"
#include "sim/supervisor/supervisor_impl.h"
#include "verbs_shim/protocol/path_view.h"
#include "verbs_shim/protocol/remote_shell.h"

namespace verbatim::supervisor {

void Supervisor::Impl::show_remote_shell(std::size_t host) {
  HostPaths& paths = kernel_.paths_of_host(host);
  const std::string near = options_.shim_directory + "/ssh", far = options_.shim_directory + "/sshd";
  paths.add(VERBATIM_SSH_PATH, near);
  paths.add(VERBATIM_RSH_PATH, near);
  if (options_.terminal_user != nullptr) paths.add(VERBATIM_ON_PATH, near);
  paths.add(VERBATIM_SSHD_PATH, far);
}

int Supervisor::Impl::start_remote(Thread& asking, std::uint32_t address, std::uint16_t port) {
  const std::size_t from = asking.process().host_index();
  const bool is_loopback = address >> 24 == 127;
  const int found = kernel_.host_of(IpAddress::v4(address), from);
  if (found < 0) return -EHOSTUNREACH;
  if (port == 0) return -EINVAL;
  const std::size_t host = static_cast<std::size_t>(found);
  const std::uint32_t own = is_loopback ? address : hosts_[from].address;
  const std::string near = fmt::format("{}.{}.{}.{}", own >> 24, own >> 16 & 255, own >> 8 & 255, own & 255);
  ProgramSpec spec;
  spec.host = host;
  spec.arguments = {VERBATIM_SSHD_PATH, near, std::to_string(port)};
  spec.environment = {{"USER", "root"}, {"LOGNAME", "root"}, {"SHELL", "/bin/sh"},
                      {"SSH_CONNECTION", fmt::format("{} {} {} 22", near, port, near)}};
  spec.working_directory = protocol::kHome;
  spec.start = engine_.now() + kernel_.network_latency(from, host) + Duration(hosts_[host].costs.wake_up_ps);
  start_later(std::move(spec), asking.process().program());
  return 0;
}

void Supervisor::Impl::start_later(ProgramSpec spec, std::size_t index) {
  const std::size_t host = spec.host;
  const bool has_folders = std::ranges::any_of(folder_->hosts(), [&](const auto& own) { return own.name == hosts_[host].name; });
  if (!has_folders) {
    // The files of all programs of the scenario are visible on this host too: any of them
    // may be started here.
    std::vector<const ProgramSpec*> all;
    for (const ProgramSpec& program : *programs_) all.push_back(&program);
    folder_->add_host(hosts_[host], all, options_.epoch_ns / 1'000'000'000, kernel_.paths_of_host(host));
    show_remote_shell(host);
  }
  starts_.push_back(std::make_unique<Start>(*this, index, hosts_[host].component, std::move(spec)));
  Start& start = *starts_.back();
  starts_on_host_[host].push_back(&start);
  start.timer.schedule_at(start.spec->start);
  ++not_started_;
  ++living_.at(index);  // until its process exists, the start counts as one
  ++living_in_all_;
}

void Supervisor::Impl::start_asked(Start& start) {
  --not_started_;
  std::erase(starts_on_host_[start.spec->host], &start);
  const std::uint32_t pid = new_pid();
  Process* const process = launch_program(*start.spec, start.program, pid, fmt::format("process/{}", pid));
  if (process == nullptr) return;
  --living_.at(start.program);
  --living_in_all_;
  process->family().first_of_program = false;
}

}  // namespace verbatim::supervisor
