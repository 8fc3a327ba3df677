// Tables of scenarios: programs, flows, faults and expected results.
#include "sim/config/freedom.h"
#include "sim/config/spec.h"
#include "sim/config/tables.h"
#include "sim/ib/opcode.h"

namespace verbatim::config {

namespace {

const Object& program_table() {
  using P = ProgramSpec;
  static const Object table = make_object<P>(
      "a program", "a Linux program on a simulated host",
      {for_people("description", "for people"),
       bind<&P::host>(
           {.key = "host", .kind = Kind::kName, .required = true, .doc = "a host of the topology"}),
       bind<&P::command>(
           {.key = "command",
            .kind = Kind::kCommand,
            .required = true,
            .doc = "the program and its arguments: a string, split as a shell splits words but without "
                   "a shell, or a list of words; {NAME} is replaced by the value of an argument that has a range"}),
       bind<&P::start>({.key = "start",
                        .kind = Kind::kDuration,
                        .doc = "virtual time at which it starts",
                        .max = 1'000'000 * kSecondPs}),
       bind<&P::environment>({.key = "env",
                              .kind = Kind::kTextMap,
                              .doc = "environment variables beyond the fixed base environment"}),
       bind<&P::working_directory>(
           {.key = "cwd",
            .kind = Kind::kReference,
            .doc = "working directory, relative to this file; default: the caller's"}),
       bind<&P::files>({.key = "files",
                        .kind = Kind::kTextMap,
                        .doc = "files in the host's own /tmp, /var/tmp, /dev/shm, /run, /dev/hugepages or home folder before the "
                               "start: path, and the file it is a copy of, relative to this file"}),
       bind<&P::background>({.key = "background",
                             .kind = Kind::kBoolean,
                             .doc = "SIGTERM ends it, a latency of the management network after the end of all programs without this mark"}),
       bind<&P::kill>({.key = "kill",
                       .kind = Kind::kDuration,
                       .doc = "virtual time at which SIGKILL ends it; left out: never",
                       .max = 1'000'000 * kSecondPs}),
       bind<&P::expect_exit>({.key = "expect_exit",
                              .kind = Kind::kExpectExit,
                              .doc = "exit code, or the signal that ends it, such as \"SIGSEGV\""}),
       bind<&P::expect_output>({.key = "expect_output",
                                .kind = Kind::kTextList,
                                .doc = "strings that must occur in its standard output, in this order"})});
  return table;
}

const Object& flow_table() {
  using F = FlowSpec;
  static const Object table = make_object<F>(
      "a flow", "traffic without a program: bytes from one host to another over reliable connections",
      {for_people("description", "for people"),
       bind<&F::from>({.key = "from",
                       .kind = Kind::kText,
                       .required = true,
                       .doc = "the host that sends; a further adapter of it: host/device"}),
       bind<&F::to>({.key = "to", .kind = Kind::kText, .required = true, .doc = "the host that receives, written likewise"}),
       bind<&F::bytes>({.key = "bytes",
                        .kind = Kind::kSize,
                        .required = true,
                        .doc = "how much is sent in all",
                        .min = 1,
                        .max = 1ll << 50}),
       bind<&F::start>({.key = "start",
                        .kind = Kind::kDuration,
                        .doc = "virtual time of the first doorbell",
                        .max = 1'000'000 * kSecondPs}),
       bind<&F::message_size>({.key = "message_size",
                               .kind = Kind::kSize,
                               .doc = "bytes of one work request; the last may be shorter",
                               .min = 1,
                               .max = 1ll << 30}),
       bind<&F::operation>({.key = "operation",
                            .kind = Kind::kText,
                            .doc = "write: RDMA WRITE; send: SEND, for which the receiver always has a receive; read: RDMA READ, which the "
                                   "host that the bytes go to asks for, as the client of ib_read_bw does",
                            .choices = {"write", "send", "read"}}),
       without_default(bind<&F::service_level>({.key = "service_level",
                                                .kind = Kind::kInteger,
                                                .doc = "service level of its packets and their answers; on Ethernet, with trust pcp in the adapter's profile, the lower "
                                                       "three bits are their priority; left out: that of the path record, which is 0 unless the topology's "
                                                       "routing_engine has levels",
                                                .max = 15})),
       bind<&F::traffic_class>({.key = "traffic_class",
                                .kind = Kind::kInteger,
                                .doc = "on Ethernet: traffic class in the IP headers of its packets and their answers; the upper six bits are the DSCP",
                                .max = 255}),
       without_default(bind<&F::acknowledgement_traffic_class>(
           {.key = "acknowledgement_traffic_class",
            .kind = Kind::kInteger,
            .doc = "on Ethernet: the same of packets without data, as acknowledgements are, and the requests of operation read; left out: "
                   "traffic_class",
            .max = 255})),
       bind<&F::queue_pairs>({.key = "queue_pairs",
                              .kind = Kind::kInteger,
                              .doc = "connections that share its messages, each with 128 of them under way at most",
                              .min = 1,
                              .max = 4096})});
  return table;
}

// "any" and every operation of the opcode table, for all transports.
std::vector<std::string_view> opcode_names() {
  std::vector<std::string_view> names = {"any"};
  for (std::uint32_t code = 0; code < 0x20; ++code) {
    const ib::OpcodeInfo& info = ib::info(make_opcode(ib::Transport::kRc, static_cast<ib::Operation>(code)));
    if (info.defined) names.push_back(info.name);
  }
  return names;
}

const Object& expect_table() {
  using E = ExpectSpec;
  static const Object table = make_object<E>(
      "expectations", "expectations about the whole run",
      {bind<&E::outcome>({.key = "outcome",
                          .kind = Kind::kText,
                          .doc = "how the run ends",
                          .choices = {"finished", "deadlock", "time-limit"}}),
       bind<&E::digest>({.key = "digest", .kind = Kind::kHex, .doc = "digest of the run"}),
       bind<&E::virtual_time_max>({.key = "virtual_time_max",
                                   .kind = Kind::kDuration,
                                   .doc = "the run ends at this virtual time at the latest; 0: any",
                                   .max = 1'000'000 * kSecondPs})});
  return table;
}

const Object& freedom_table() {
  using F = FreedomSpec;
  static const Object table = make_object<F>(
      "bounds of freedom", "limits of a run with freedom spec; other runs ignore them",
      {bind<&F::faults>({.key = "faults",
                         .kind = Kind::kInteger,
                         .doc = "how many packets at most are lost, duplicated or late; which ones is drawn from the seed",
                         .max = 1'000'000}),
       bind<&F::failing_calls>({.key = "failing_calls",
                                .kind = Kind::kInteger,
                                .doc = "how many calls of programs on each host at most fail, or do less than they could, though nothing is wrong; which "
                                       "ones is drawn from the seed",
                                .max = 1'000'000}),
       bind<&F::failures>({.key = "failures",
                           .kind = Kind::kInteger,
                           .doc = "how many links go down, adapters fail and programs are killed at most; which ones and when is drawn from "
                                  "the seed",
                           .max = 1'000'000}),
       bind<&F::accesses>({.key = "accesses",
                           .kind = Kind::kBoolean,
                           .doc = "threads may also be delayed before accesses to shared memory, and between the read and the write of one "
                                  "instruction; otherwise only before calls"})});
  return table;
}

}  // namespace

const Object& fault_table() {
  using F = FaultSpec;
  static const Object table = make_object<F>(
      "a fault", "something that goes wrong on a link, or with an adapter",
      {for_people("description", "for people"),
       bind<&F::action>({.key = "action",
                         .kind = Kind::kText,
                         .required = true,
                         .doc = "effect: on packets (mark: those of RoCE that are ECN-capable get a congested switch's mark, CE), to the "
                                "link itself (link_down), to the far end of a link that has pauses, which a broken device pauses without end "
                                "(pause_storm), or to an adapter that fails for good (device_fatal)",
                         .choices = {"drop", "duplicate", "corrupt", "delay", "mark", "link_down", "pause_storm", "device_fatal"}}),
       bind<&F::network>({.key = "network",
                          .kind = Kind::kText,
                          .doc =
                              "owner of the packets: those of the fabric's links, or TCP segments, UDP datagrams and "
                              "ICMP echo messages between hosts; the latter can be dropped and delayed",
                          .choices = {"fabric", "management"}}),
       bind<&F::protocol>({.key = "protocol",
                           .kind = Kind::kText,
                           .doc = "for network management: packets of this protocol",
                           .choices = {"any", "tcp", "udp", "icmp"}}),
       bind<&F::from>({.key = "from",
                       .kind = Kind::kText,
                       .doc =
                           "packets, or pauses, that leave by this end of a link, written as in the topology; for network "
                           "management: from this host, default any"}),
       bind<&F::to>({.key = "to",
                     .kind = Kind::kText,
                     .doc = "packets, or pauses, that arrive at this end of a link; for network management: at this host, "
                            "default any"}),
       bind<&F::opcode>({.key = "opcode",
                         .kind = Kind::kText,
                         .doc = "packets of this operation, of any transport",
                         .choices = opcode_names()}),
       bind<&F::nth>({.key = "nth",
                      .kind = Kind::kInteger,
                      .doc = "the first such packet that is hit; 1 is the first that starts on the link",
                      .min = 1}),
       bind<&F::every>({.key = "every", .kind = Kind::kInteger, .doc = "after that one, every n-th such packet is hit", .min = 1}),
       without_default(bind<&F::count>({.key = "count",
                                        .kind = Kind::kInteger,
                                        .doc = "how many packets are hit, or bursts of them; 0: no limit; default 1, with a rate no limit"})),
       without_default(bind<&F::rate>({.key = "rate",
                                       .kind = Kind::kFraction,
                                       .doc = "instead of every: the probability with which each packet from the nth on is hit, or a burst "
                                              "begins with it, such as 1e-4; drawn from the seed, for each end of a link by itself"})),
       bind<&F::burst>({.key = "burst",
                        .kind = Kind::kInteger,
                        .doc = "packets that are hit one after the other each time",
                        .min = 1,
                        .max = 1'000'000}),
       bind<&F::burst_lengths>({.key = "burst_lengths",
                                .kind = Kind::kText,
                                .doc = "fixed: each burst has that length; geometric: its length is drawn, and that is the mean (with a rate, "
                                       "the model of Gilbert and Elliott)",
                                .choices = {"fixed", "geometric"}}),
       bind<&F::after>({.key = "after",
                        .kind = Kind::kDuration,
                        .doc = "virtual time from which packets count",
                        .max = 1'000'000 * kSecondPs}),
       bind<&F::delay>({.key = "delay",
                        .kind = Kind::kDuration,
                        .doc = "action delay: delay of the packet; others overtake it",
                        .max = 1'000 * kSecondPs}),
       bind<&F::icrc>(
           {.key = "icrc",
            .kind = Kind::kText,
            .doc = "action corrupt: invalid, so that the receiver discards the packet, or valid, so "
                   "that the error is not detected; then only packets with payload count",
            .choices = {"invalid", "valid"}}),
       bind<&F::byte>(
           {.key = "byte",
            .kind = Kind::kInteger,
            .doc = "action corrupt: which byte of the payload is wrong; the last, if there are fewer"}),
       bind<&F::link>({.key = "link", .kind = Kind::kText, .doc = "action link_down: an end of the link"}),
       bind<&F::host>({.key = "host", .kind = Kind::kText, .doc = "action device_fatal: host whose adapter fails; a further adapter: host/device"}),
       bind<&F::at>({.key = "at",
                     .kind = Kind::kDuration,
                     .doc = "actions link_down, pause_storm and device_fatal: virtual time of the failure",
                     .max = 1'000'000 * kSecondPs}),
       bind<&F::until>(
           {.key = "until",
            .kind = Kind::kDuration,
            .doc = "actions link_down and pause_storm: virtual time at which the link is up again, or the storm over; default: never",
            .max = 1'000'000 * kSecondPs}),
       bind<&F::priorities>({.key = "priorities",
                             .kind = Kind::kText,
                             .doc = "action pause_storm: paused priorities, such as \"3\" or \"3,4\"; default: all that the link has "
                                    "without loss"})});
  return table;
}

const Object& scenario_table() {
  using S = ScenarioSpec;
  static const Object table = make_object<S>(
      "a scenario", "A topology, the programs that run on it, and what is expected of them",
      {for_people("$schema", "the JSON Schema, for editors"),
       bind<&S::name>({.key = "name", .kind = Kind::kName, .doc = "name of the scenario"}),
       bind<&S::description>({.key = "description", .kind = Kind::kText, .doc = "for people"}),
       bind<&S::topology_reference>({.key = "topology",
                                     .kind = Kind::kReference,
                                     .required = true,
                                     .doc = "topology file, relative to this one"}),
       bind<&S::root>({.key = "root",
                       .kind = Kind::kReference,
                       .doc = "bundle made by `verbatim pack --root`, relative to this file: programs see its files in place of the machine's, but for "
                              "the folders that they work in and the files that commands name"}),
       bind_objects<&S::programs>(
           {.key = "programs", .kind = Kind::kObjects, .doc = "the programs; without flows and workloads there is at least one"},
           program_table()),
       bind_objects<&S::flows>({.key = "flows",
                                .kind = Kind::kObjects,
                                .doc = "traffic that no program makes; the run lasts until all of it has arrived"},
                               flow_table()),
       bind_objects<&S::workloads>({.key = "workloads",
                                    .kind = Kind::kObjects,
                                    .doc = "many flows by one rule each; their order changes nothing"},
                                   workload_table()),
       bind<&S::until>({.key = "until",
                        .kind = Kind::kDuration,
                        .doc = "virtual time at which the run ends as it should, whatever flows are still under way; 0: when all that is "
                               "not in the background has ended",
                        .max = 1'000'000 * kSecondPs}),
       bind<&S::ranges>({.key = "ranges",
                         .kind = Kind::kRangeMap,
                         .doc = "numbers in the commands that may be made smaller: a name, written {name} in a command, and its least "
                                "and greatest value, such as \"1..1000\"; a run takes the greatest, or what --set gives"}),
       bind_objects<&S::faults>({.key = "faults", .kind = Kind::kObjects, .doc = "faults"},
                                fault_table()),
       bind<&S::seed>({.key = "seed", .kind = Kind::kInteger, .doc = "root of all random numbers"}),
       bind<&S::freedom>(
           {.key = "freedom",
            .kind = Kind::kText,
            .doc = "behaviour where the specification leaves a choice: friendly does as a "
                   "ConnectX does, spec draws all that is allowed from the seed, quirk:NAME besides what some hardware does though it "
                   "is not allowed",
            .choices = {freedom_names().begin(), freedom_names().end()}}),
       bind_object<&S::spec>({.key = "spec", .kind = Kind::kObject, .doc = "with freedom spec: how far it goes"},
                             freedom_table()),
       bind<&S::time_limit>({.key = "time_limit",
                             .kind = Kind::kDuration,
                             .doc = "virtual time after which the run is ended; 0: none",
                             .max = 1'000'000 * kSecondPs}),
       bind_object<&S::expect>({.key = "expect", .kind = Kind::kObject, .doc = "expectations about the whole run"},
                               expect_table())});
  return table;
}

}  // namespace verbatim::config
