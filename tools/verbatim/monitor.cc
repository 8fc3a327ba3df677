#include "tools/verbatim/monitor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/printf.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include "sim/config/quantity.h"
#include "sim/core/time_text.h"
#include "sim/hca/queues/work_request.h"
#include "sim/ib/packet_trace.h"
#include "sim/ib/opcode.h"
#include "sim/ib/qp_state.h"
#include "sim/observe/text_trace_sink.h"

namespace verbatim::cli {

namespace {

constexpr std::size_t kKeptLines = 1000;
constexpr std::size_t kMostPackets = 100'000;

constexpr const char* kHelp =
    "monitor now           the virtual times of the program and of the fabric\n"
    "monitor threads       what every other thread waits for\n"
    "monitor qps [HOST]    queue pairs: state, peer, work that is posted and not complete\n"
    "monitor cqs [HOST]    completion queues: completions that wait, events asked for\n"
    "monitor packets       packets on cables and in switches\n"
    "monitor trace [N]     the latest N facts of the trace (default 20, at most 1000)\n"
    "monitor back TIME     the same run again, held so much earlier: \"monitor back 5us\"; breakpoints are kept\n";

// Replaces gdb's own `monitor` command, which works with remote targets only. A reply ends with a zero byte.
// A reply that begins with a 1 names the file for gdb's breakpoints, and ends gdb.
constexpr const char* kScript = R"(python
import gdb
import socket

class VerbatimMonitor(gdb.Command):
    """Ask the simulated fabric, which waits for this program: "monitor help" lists the commands."""

    def __init__(self, number):
        super().__init__("monitor", gdb.COMMAND_DATA)
        self.socket = socket.socket(fileno=number)

    def invoke(self, argument, from_terminal):
        try:
            self.socket.sendall(argument.encode() + b"\n")
            reply = b""
            while not reply.endswith(b"\0"):
                more = self.socket.recv(65536)
                if not more:
                    raise gdb.GdbError("the run has ended")
                reply += more
        except OSError as error:
            raise gdb.GdbError("the run does not answer: " + str(error))
        text = reply[:-1].decode(errors="replace")
        if not text.startswith("\x01"):
            gdb.write(text)
            return
        breakpoints, _, text = text[1:].partition("\n")
        gdb.write(text)
        gdb.flush()
        try:
            gdb.execute("save breakpoints " + breakpoints, to_string=True)
        except gdb.error:
            pass  # there are none
        gdb.execute("set confirm off")
        gdb.execute("kill")
        gdb.execute("quit")

VerbatimMonitor(%d)
end
)";

// Words separated by blanks.
std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words;
  for (std::size_t at = 0; (at = command.find_first_not_of(" \t\r", at)) != std::string::npos;) {
    const std::size_t end = std::min(command.find_first_of(" \t\r", at), command.size());
    words.push_back(command.substr(at, end - at));
    at = end;
  }
  return words;
}

bool is_of_host(const std::string& program, const std::string& host) { return host.empty() || program.starts_with(host + ":"); }

std::string number_or_none(std::uint32_t number) { return number == 0 ? "none" : std::to_string(number); }

std::string queue_pair_line(const hca::QueuePairState& qp) {
  std::string line = fmt::format("QP {} {} {}", qp.number, hca::name_of(qp.type), ib::name_of(qp.state));
  if (!qp.peer.empty()) line += ", connected to " + qp.peer;
  line += fmt::format("; sends not complete: {} of {}, {} of them signaled", qp.sends, qp.send_entries, qp.signaled);
  if (qp.srq != 0) {
    line += fmt::format("; receives posted: {} in SRQ {}", qp.receives, qp.srq);
  } else {
    line += fmt::format("; receives posted: {} of {}", qp.receives, qp.recv_entries);
  }
  line += fmt::format("; send CQ {}, receive CQ {}", number_or_none(qp.send_cq), number_or_none(qp.recv_cq));
  if (qp.waits_for_receive) line += "; its peer has no receive for what it sends";
  if (qp.timeouts != 0) line += fmt::format("; {} timeouts since the last answer", qp.timeouts);
  return line;
}

std::string completion_queue_line(const hca::CompletionQueueState& cq) {
  std::string line = fmt::format("CQ {}: {} of {} completions wait to be polled", cq.number, cq.waiting, cq.entries);
  if (cq.waiting != 0) line += ", the oldest written at " + time_text(to_ps(cq.oldest));
  if (cq.asked != kNever) {
    line += fmt::format("; an event {}was requested at {}{}", cq.asked_solicited ? "for solicited completions " : "",
                        time_text(to_ps(cq.asked)), cq.answered ? ", and was raised" : "");
  }
  if (cq.has_overrun) line += "; it has overrun";
  return line;
}

}  // namespace

Monitor::Monitor(const ComponentTable& components) : components_(components) {
  std::set<std::string_view> switches;
  constexpr std::string_view kSwitch = "switch/", kPort = "port/";
  for (std::uint32_t i = 0; i < components.size(); ++i) {
    const std::string_view name = components.name(ComponentId{i});
    if (name.starts_with(kSwitch)) switches.insert(name.substr(kSwitch.size()));
  }
  for (std::uint32_t i = 0; i < components.size(); ++i) {
    const std::string_view name = components.name(ComponentId{i});
    if (!name.starts_with(kPort)) continue;
    if (switches.contains(name.substr(kPort.size(), name.rfind(':') - kPort.size()))) ports_of_switches_.insert(i);
  }
}

Monitor::~Monitor() {
  for (const int fd : {socket_, of_gdb_, script_, breakpoints_}) {
    if (fd >= 0) ::close(fd);
  }
}

bool Monitor::begin() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  socket_ = ends[0];
  of_gdb_ = ends[1];
  script_ = ::memfd_create("monitor", MFD_CLOEXEC);
  breakpoints_ = ::memfd_create("breakpoints", MFD_CLOEXEC);
  const std::string text = fmt::sprintf(kScript, of_gdb_);
  return breakpoints_ >= 0 && script_ >= 0 && ::write(script_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string Monitor::hand_to_gdb() const {
  for (const int fd : {of_gdb_, script_}) ::fcntl(fd, F_SETFD, 0);
  return "/proc/self/fd/" + std::to_string(script_);
}

void Monitor::leave_to_gdb() {
  for (int* fd : {&of_gdb_, &script_}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
}

std::string Monitor::breakpoints() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), breakpoints_); }

void Monitor::keep_breakpoints() const { ::fcntl(breakpoints_, F_SETFD, 0); }

void Monitor::on_record(const TraceRecord& record, std::span<const std::byte> bytes) {
  lines_.push_back(observe::to_text(record, bytes, components_));
  if (lines_.size() > kKeptLines) lines_.pop_front();
  if (record.event >= TraceEvent::kPacketTransmitted && record.event <= TraceEvent::kPacketDropped &&
      record.values[0] != ib::kFrameRecord) {
    follow_packet(record);
  }
}

// If two packets have the same name, the packet at the position in the record moves.
void Monitor::follow_packet(const TraceRecord& record) {
  const PacketName name{record.values[0], record.values[1], record.values[2]};
  const bool is_at_switch = ports_of_switches_.contains(record.component);
  const bool was_on_cable = record.event == TraceEvent::kPacketReceived;
  const auto [begin, end] = under_way_.equal_range(name);
  auto known = std::find_if(begin, end, [&](const auto& entry) { return entry.second.is_on_cable == was_on_cable; });
  if (known == end && record.event == TraceEvent::kPacketDropped) known = begin;
  switch (record.event) {
    case TraceEvent::kPacketTransmitted:
      if (is_at_switch && known != end) {
        known->second = {record.time_ps, record.component, true, record.values[3]};
      } else if (under_way_.size() < kMostPackets) {
        under_way_.emplace(name, Place{record.time_ps, record.component, true, record.values[3]});
      }
      break;
    case TraceEvent::kPacketReceived:
      if (known == end) break;
      if (is_at_switch) {
        known->second = {record.time_ps, record.component, false, record.values[3]};
      } else {
        under_way_.erase(known);
      }
      break;
    case TraceEvent::kPacketDropped:
      if (known != end) under_way_.erase(known);
      break;
    default:
      break;
  }
}

std::string Monitor::packets_text() const {
  std::vector<std::pair<PacketName, Place>> all(under_way_.begin(), under_way_.end());
  std::ranges::stable_sort(all, {}, [](const auto& entry) { return entry.second.since_ps; });
  std::string text;
  for (const auto& [name, place] : all) {
    const auto& [opcode, qp, psn] = name;
    const ib::OpcodeInfo& info = ib::info(static_cast<ib::Opcode>(opcode));
    text += fmt::format("{} to QP {}, PSN {}, {} bytes: {} {} since {}\n", info.defined ? info.name : "a packet", qp, psn,
                        place.wire_bytes, place.is_on_cable ? "on the cable from" : "in the switch, arrived at",
                        components_.name(ComponentId{place.component}), time_text(place.since_ps));
  }
  return text.empty() ? "no packet is on a cable or in a switch\n" : text;
}

std::string Monitor::trace_text(const std::string& count) const {
  std::size_t wanted = 20;
  if (!count.empty()) {
    const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), wanted);
    if (error != std::errc() || end != count.data() + count.size() || wanted == 0) return "trace: " + count + " is no number of lines\n";
  }
  std::string text;
  for (std::size_t i = lines_.size() - std::min(wanted, lines_.size()); i < lines_.size(); ++i) text += lines_[i] + "\n";
  return text.empty() ? "the trace is empty\n" : text;
}

std::string Monitor::go_back(const std::string& by, supervisor::HeldRun& run) {
  std::string problem, hint;
  const auto picoseconds = config::parse_quantity(by, config::Dimension::kDuration, &problem, &hint);
  if (!picoseconds || *picoseconds <= 0) return "back: say how far, as in \"monitor back 5us\"\n";
  goes_back_to_ = instant_from_ps(std::max<std::int64_t>(1, to_ps(run.now()) - *picoseconds));
  return "the run goes back to " + time_text(to_ps(*goes_back_to_)) + "; gdb starts again there\n";
}

std::string Monitor::answer(const std::string& command, supervisor::HeldRun& run) {
  std::vector<std::string> words = words_of(command);
  words.resize(std::max<std::size_t>(words.size(), 2));
  const std::string &verb = words[0], &argument = words[1];
  std::string text;
  if (verb == "now") {
    return fmt::format("{} is held at {}; the fabric is at {}\n", run.holder(), time_text(to_ps(run.now())),
                       time_text(to_ps(run.fabric_now())));
  }
  if (verb == "threads") {
    for (const std::string& sentence : run.waits()) text += sentence + "\n";
    return text.empty() ? "no other thread waits\n" : text;
  }
  if (verb == "qps" || verb == "cqs") {
    for (const supervisor::HeldRun::Queues& queues : run.queues()) {
      if (!is_of_host(queues.program, argument)) continue;
      if (verb == "qps") {
        for (const auto& qp : queues.state.qps) text += queues.program + ": " + queue_pair_line(qp) + "\n";
      } else {
        for (const auto& cq : queues.state.cqs) text += queues.program + ": " + completion_queue_line(cq) + "\n";
      }
    }
    return text.empty() ? std::string("there are no ") + (verb == "qps" ? "queue pairs\n" : "completion queues\n") : text;
  }
  if (verb == "packets") return packets_text();
  if (verb == "trace") return trace_text(argument);
  if (verb == "back") return go_back(argument, run);
  return (verb.empty() || verb == "help" ? "" : "there is no " + verb + "\n") + std::string(kHelp);
}

bool Monitor::serve(supervisor::HeldRun& run) {
  pollfd ready = {socket_, POLLIN, 0};
  while (socket_ >= 0 && ::poll(&ready, 1, 0) > 0) {
    char bytes[4096];
    const ssize_t length = ::recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (length <= 0) {  // gdb has exited
      ::close(socket_);
      socket_ = -1;
      break;
    }
    asked_.append(bytes, static_cast<std::size_t>(length));
    for (std::size_t end; (end = asked_.find('\n')) != std::string::npos; asked_.erase(0, end + 1)) {
      std::string reply = answer(asked_.substr(0, end), run);
      if (goes_back_to_) reply = "\x01" + breakpoints() + "\n" + reply;
      reply.push_back('\0');
      for (std::size_t sent = 0; sent < reply.size();) {
        const ssize_t part = ::send(socket_, reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
        if (part <= 0) break;
        sent += static_cast<std::size_t>(part);
      }
      if (goes_back_to_) return true;
    }
  }
  return false;
}

}  // namespace verbatim::cli
