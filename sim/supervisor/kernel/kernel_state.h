// State of the simulated kernel. Each part has one owner; HostKernel holds what belongs to one host. A
// handler receives the parts that it names as parameters (dispatch.h).
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

#include "sim/core/trace.h"
#include "sim/supervisor/kernel/call_context.h"
#include "sim/supervisor/kernel/call_failures.h"
#include "sim/supervisor/kernel/checks.h"
#include "sim/supervisor/kernel/futex.h"
#include "sim/supervisor/kernel/host_kernel.h"
#include "sim/supervisor/kernel/host_trees.h"
#include "sim/supervisor/kernel/program_output.h"
#include "sim/supervisor/kernel/real_descriptors.h"
#include "sim/supervisor/kernel/sysv_calls.h"
#include "sim/supervisor/net/ping_socket.h"
#include "sim/supervisor/net/tcp.h"
#include "sim/supervisor/net/udp.h"
#include "sim/supervisor/net/unix_socket.h"

namespace verbatim::supervisor {

struct Networks {
  Networks(Engine& engine, Tracer& tracer, const std::vector<HostSpec>& hosts,
           const ManagementNetworkSpec& network)
      : tcp(engine, tracer, hosts, network), udp(tcp), ping(tcp) {}

  TcpNetwork tcp;
  UdpNetwork udp;
  PingNetwork ping;
  UnixNetwork unix_domain;
};

struct KernelState {
  KernelState(Engine& engine, Tracer& tracer, const std::vector<HostSpec>& hosts,
              const ManagementNetworkSpec& network, const SupervisorOptions& options, ProcessTable& table,
              ProgramOutput output, CallServices::Warn warn, MakeThread make_thread);

  Tracer& tracer;
  Checks checks;
  const CallServices services;
  Networks networks;
  RealDescriptors descriptors;
  std::deque<HostKernel> hosts;  // by index; declared after the networks, whose sockets it may hold
  HostTrees trees;
  CallFailures failures;
  FutexTable futexes;
  MachineHugePages huge_pages;
  ProgramOutput output;
  MakeThread make_thread;
  Instant last_progress{};

  HostKernel& host_of(const Process& process) { return hosts[process.host_index()]; }
  CallContext context_of(Thread& thread) { return {services, host_of(thread.process()), thread}; }
  // The part of type Owner.
  template <class Owner>
  Owner& part() {
    using Part = std::remove_const_t<Owner>;
    return std::get<Part&>(std::tie(networks, trees, descriptors, failures, futexes, huge_pages, output, make_thread));
  }
};

}  // namespace verbatim::supervisor
