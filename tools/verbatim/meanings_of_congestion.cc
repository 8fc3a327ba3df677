// Terms of congestion: meaning, and causes in a run.
#include "tools/verbatim/meanings.h"

namespace verbatim::cli {

namespace {

constexpr Meaning kCongestion[] = {
    {"incast", "Several hosts send to one at the same time. Its cable carries one rate, so the rest waits in the switch before it.",
     {"Fewer senders at a time, or smaller messages: what is in flight at once must wait somewhere.",
      "With ECN and DCQCN the senders slow down to their shares; the queue stays near kmin to kmax of the switch's marking.",
      "With PFC alone nothing is lost, but the pauses reach cables whose packets go elsewhere (see PFC)."}},
    {"PFC",
     "Priority-based flow control (IEEE 802.1Qbb): a port whose buffer fills up asks the other end of its cable to pause a priority, and to "
     "resume when there is room again. Nothing of that priority is lost, if the headroom takes what is still on its way.",
     {"A pause holds up every flow of the priority on that cable, also those whose path is free (victims); pauses spread from switch to switch.",
      "The trace has each frame as pause-frame, run.json the sums under congestion and each port's under ports, --explain-latency what a "
      "message waited as \"output: paused by the far end\" (at a switch with shared memory \"whose shared buffer is full\") and the port that "
      "paused it, --series and report when, --pcap with --pcap-per "
      "link the frames themselves.",
      "A program reads rx_prio0_pause, rx_prio0_pause_duration and the like by ethtool -S of its adapter's interface.",
      "Topology key flow_control pfc; lossless priorities, response time and headroom under pfc; thresholds in the switch's shared_memory."}},
    {"headroom",
     "The part of a lossless priority's buffer that is kept for packets that arrive after the decision to pause: own packet and frame on the "
     "line, twice the delay of the cable, response time of the other end, and the packet that it has just begun.",
     {"Too little of it, and packets of a lossless priority are dropped (reason: the input buffer is full).",
      "\"bound\" suffices for any traffic; \"sonic\" is SONiC's formula, which assumes a cable length and a response time by rate."}},
    {"ECN",
     "Explicit congestion notification: a switch marks a packet (CE) by what waits in its output queue, instead of losing it. Below kmin none, "
     "above kmax every one, between them with a probability that rises to pmax.",
     {"Only packets whose sender says that it understands marks (ECT) are marked: profile key congestion_control/ecn_capable.",
      "The receiver answers with notifications (see CNP), the sender with a lower rate (see DCQCN).",
      "kmin above the threshold of PFC, and pauses come before marks: the rates stay too high. The trace has packet-marked."}},
    {"CNP",
     "Congestion notification packet: the receiver of a marked packet sends one to the sender, at most one in min_time_between_cnps for each "
     "port, address or queue pair (cnp_scope). Marks in between are not answered later.",
     {"With the scope of a port, one of many flows gets a notification at a time.",
      "Counters np_cnp_sent and np_ecn_marked_roce_packets of the receiver, rp_cnp_handled of the sender, in hw_counters of the port."}},
    {"DCQCN",
     "Congestion control of RoCE adapters: each notification lowers a queue pair's rate by a share alpha / 2, and time and bytes without one "
     "raise it again, first halfway back, then by steps. There are several variants with the same parameters and different curves.",
     {"dcqcn-nv is the adapters' (parameters by their sysfs names), dcqcn-paper that of SIGCOMM 2015, dcqcn-ns3 that of HPCC's simulator.",
      "Small steps (rpg_ai_rate 5 Mb/s) and long periods (300 us) make a flow slow for milliseconds after a short congestion.",
      "The trace has each change as rate, run.json the lowest under congestion, --explain-latency what a packet waited as "
      "\"queue pair: rate limit\"."}},
    {"HPCC",
     "Congestion control by telemetry (Li et al., SIGCOMM 2019): switches write queue length, bytes sent and time of each output into the packet, the "
     "receiver returns them with its acknowledgement, and the sender sets its window so that the busiest output is used to 95 % and its queue is empty.",
     {"Profile key congestion_control/controller hpcc, base_round_trip and rpg_ai_rate (the additive increase); topology key profile_changes sets them.",
      "It reads neither marks nor notifications. A small additive increase makes shares equal slowly: flows that started earlier keep more for long.",
      "The trace has each change as rate, --explain-latency what a packet waited as \"queue pair: rate limit\"."}},
    {"Swift",
     "Congestion control by delay (Kumar et al., SIGCOMM 2020): the sender raises its window while the round trip is below a target and lowers it by "
     "how far it is above. The target grows with the number of hops and for flows with small windows.",
     {"Profile key congestion_control/controller swift, and base_round_trip.", "It needs neither marks nor telemetry of switches."}},
    {"TIMELY",
     "Congestion control by the gradient of round trips (Mittal et al., SIGCOMM 2015): the sender lowers its rate while round trips grow and raises it "
     "while they shrink, between a lower and an upper threshold.",
     {"Profile key congestion_control/controller timely.", "Equal gradients keep unequal rates, so shares need not become equal (Zhu et al., CoNEXT 2016)."}},
    {"ECMP",
     "Equal-cost multipath: where several ports lead on by paths of equal length, the switch chooses one by a hash of the flow's addresses and ports. "
     "A flow keeps to one path, and two large flows may share one while others stay empty (a collision).",
     {"Each queue pair is a flow with a source port of its own: more queue pairs per flow spread better.",
      "Topology key ecmp_seed: own numbers of the switches, or the same one, which makes tiers choose alike (polarisation).",
      "load_balancing by flowlet or packet chooses again during a flow (see spraying). --flows FILE names the path of each flow, --links the bytes of each cable."}},
    {"slowdown",
     "The completion time of a flow over its ideal time: what it takes in an idle fabric whose slowest cable on the path is always busy with it. 1 is as "
     "fast as possible; flows that share a cable fairly with n others have about n + 1.",
     {"Columns of the table of flows, flow_times of run.json and --flows FILE; the page of report has it by size.",
      "`verbatim workload` prints another ideal: the least time for all flows of a workload together."}},
    {"busbw",
     "Bus bandwidth of a collective as nccl-tests computes it: bytes over time (algbw) times a factor of the pattern, 2 (n - 1) / n for all-reduce, which "
     "makes it comparable with the rate of a host's link for any number of hosts n.",
     {"Below the rate of the link, other parts limit: few bytes in each message, paths that flows share, or computing between the steps.",
      "algbw is what the program sees: the size of its buffer over the time."}},
    {"FECN",
     "Forward explicit congestion notification (InfiniBand, annex A10): a bit in the BTH that a switch sets in packets that leave by a "
     "congested output. The output is congested while more than a threshold waits there and it could send more (the root); one that waits "
     "for credits is a victim of a congestion elsewhere, and marks only with its bit in the victim mask.",
     {"Topology key congestion_control, by the names of OpenSM's options: cc_sw_cong_setting_threshold 1 (late) to 15 (early), 0 is off, which "
      "is the default as OpenSM's is.",
      "With \"subnet_manager\": \"none\" OpenSM sets it, with congestion_control TRUE in its configuration file.",
      "The receiver answers with BECN. The trace has packet-marked, the switch's log (ibccquery CongestionLog) the newest 15."}},
    {"BECN",
     "Backward explicit congestion notification (InfiniBand): the receiver of a packet with FECN sets this bit in its acknowledgement, or in a "
     "packet of its own (CN, opcode 0x80) where none is due. The sender's queue pair then waits longer between packets (see CCT).",
     {"Each packet with FECN is answered; middle packets of a message mostly by a packet of their own, as only the last one asks for an "
      "acknowledgement.",
      "cc_ca_cong_setting_ccti_increase says by how much one raises the index, cc_ca_cong_setting_ccti_timer when it falls again."}},
    {"CCT",
     "Congestion control table (InfiniBand): entry i, shift and multiplier, is the delay behind a packet whose flow has index i (CCTI): the "
     "packet's time on the line >> shift, times multiplier. A rate of 1 / (1 + multiplier / 2^shift) of the line.",
     {"A flow is a queue pair, or with cc_ca_cong_setting_port_control 1 a service level of the port.",
      "The index is at least cc_ca_cong_setting_ccti_min, and at most the table's last entry. Entries that rise too fast leave the cable idle.",
      "The trace has each change as rate, --explain-latency what a packet waited as \"queue pair: rate limit\"."}},
    {"pause storm",
     "A device that asks for pauses without end stops the ports that send to it, and in time all that send to these, hop by hop: each switch "
     "pauses its senders when its buffer is full.",
     {"A receiver that takes no more packets, such as an adapter that hangs.",
      "A fault of a scenario makes one: {\"action\": \"pause_storm\", \"from\": \"h3\", \"at\": \"1 ms\", \"until\": \"5 ms\"}.",
      "The port that paused the longest is under congestion in run.json. A watchdog cuts the storm at the first switch (see PFC watchdog)."}},
    {"PFC watchdog",
     "A switch's protection from pause storms, as SONiC's pfcwd: if a priority's queue was not empty, nothing left it, and it was paused for "
     "all of the detection time, the switch drops packets that wait there or arrive, until there was no pause for the restoration time.",
     {"Switch profile key pfc_watchdog: action off, drop, forward or alert; detection_time and restoration_time.",
      "SONiC: 200 ms each for up to 32 ports, as much more for each 32 further ones; action drop; off until it is configured. SONiC polls, "
      "here a storm is found at once.",
      "The trace has pause-watchdog (stormed 1 and 0) and each packet that is dropped. A watchdog also breaks a credit loop of PFC."}},
    {"spraying",
     "Each packet takes a path of its own, so that all paths of one length carry the same load; a hash may give two flows one path while "
     "others stay empty. Packets overtake each other, so the receiving adapter puts them into order.",
     {"Topology key load_balancing by packet: packets of RDMA WRITEs, of adapters whose profile has a gap_time; on InfiniBand it is adaptive "
      "routing, and both ends need such adapters; a port is chosen by "
      "its queue length (grade), and at random among the best.",
      "A packet that stays away for gap_time is lost, and is asked for again then: losses cost more time than in a fabric that keeps the order.",
      "By flowlet, only a flow that has paused changes its path: no packet overtakes another if the pause is longer than the delays of the paths differ."}},
    {"credit loop",
     "Packets wait for each other's buffers in a circle of switch ports, and never move again. Lossless fabrics, by credits or by PFC, can "
     "deadlock when routes go down and up again; fabrics that drop packets cannot.",
     {"verbatim check warns of routes that make it possible, and names the circle and the routing engine that computed them.",
      "Leave out a cable of the circle; on InfiniBand set routing_engine of the topology to updn, whose routes never go up after they went "
      "down, or to lash, dfsssp or torus-2QoS, which give turning packets another lane.",
      "When a request gets no answer in time, the circle is looked for. If nothing ends it, the run ends with exit code 3 and names the ports.",
      "With lifetimes (head_lifetime, lifetime) or a PFC watchdog that drops, packets are lost instead, and the fabric goes on."}},
};

}  // namespace

std::span<const Meaning> congestion_meanings() { return kCongestion; }

}  // namespace verbatim::cli
