// The table of workloads of a scenario.
#include "sim/config/spec.h"
#include "sim/config/tables.h"
#include "sim/workload/training.h"

namespace verbatim::config {

const Object& workload_table() {
  using W = WorkloadSpec;
  constexpr std::int64_t kLongest = 1'000'000 * kSecondPs;
  static const Object table = make_object<W>(
      "a workload", "many flows by one rule, over reliable connections",
      {for_people("description", "for people"),
       bind<&W::name>(
           {.key = "name",
            .kind = Kind::kName,
            .doc = "in reports, and what its random numbers follow from; no two have the same; default: the pattern"}),
       bind<&W::pattern>(
           {.key = "pattern",
            .kind = Kind::kText,
            .doc =
                "permutation: each host sends to one other and receives from one other, drawn from the seed; shift: each "
                "host sends to the one \"distance\" further in the list; incast: \"senders\" hosts send to \"to\"; "
                "all-to-all: each host sends to every other; random: each host sends flows to others, drawn from the "
                "seed, at a \"load\" or so many \"flows\"; hot-spot: likewise, a \"share\" of them to \"to\"; the others are "
                "messages that wait for each other: collectives as MPI and NCCL have them, all-to-all too when it has an "
                "\"algorithm\"; pipeline: micro-batches through stages; expert-parallel: tokens to experts and back",
            .choices = {"permutation", "shift", "incast", "all-to-all", "random", "hot-spot", "barrier", "broadcast",
                        "all-reduce", "all-gather", "reduce-scatter", "pipeline", "expert-parallel"}}),
       bind<&W::file>(
           {.key = "file",
            .kind = Kind::kReference,
            .doc =
                "instead of a pattern: a GOAL file (LogGOPSim, ATLAHS), Chakra execution traces in JSON (one for all hosts, or with {rank} in "
                "the name one for each), a connection matrix of htsim (.cm) or a flow.txt of HPCC, relative to this one; rank or node i "
                "is the host i of the list"}),
       bind<&W::algorithm>(
           {.key = "algorithm",
            .kind = Kind::kText,
            .doc = "barrier: dissemination; broadcast: tree, chain; all-reduce: ring, tree, halving-doubling, nccl-ring, "
                   "nccl-tree; all-gather, reduce-scatter: ring, direct; all-to-all, expert-parallel: direct, pairwise; "
                   "pipeline: 1f1b, gpipe; default: the first",
            .choices = {"dissemination", "tree", "chain", "ring", "halving-doubling", "nccl-ring", "nccl-tree", "direct",
                        "pairwise", "1f1b", "gpipe"}}),
       bind<&W::root>(
           {.key = "root", .kind = Kind::kText, .doc = "broadcast: the host that has the bytes; default: the first"}),
       bind<&W::channels>({.key = "channels",
                           .kind = Kind::kInteger,
                           .doc = "nccl-ring and nccl-tree: shares of the bytes, each with connections of its own",
                           .min = 1,
                           .max = workload::kMaxChannels}),
       without_default(bind<&W::chunk>(
           {.key = "chunk",
            .kind = Kind::kSize,
            .doc = "tree, chain, nccl-ring and nccl-tree: bytes that are passed on at once; default: all, and of "
                   "nccl-ring and nccl-tree 512 KiB",
            .min = 1,
            .max = 1ll << 40})),
       bind<&W::repeat>(
           {.key = "repeat", .kind = Kind::kInteger, .doc = "so many times, one after the other", .min = 1, .max = 100'000}),
       bind<&W::compute>(
           {.key = "compute",
            .kind = Kind::kDuration,
            .doc = "each host computes for so long before; pipeline: forward, of a micro-batch, backward is twice as long; "
                   "expert-parallel: an expert, for a token",
            .max = 1000 * kSecondPs}),
       bind<&W::jitter>({.key = "jitter",
                         .kind = Kind::kFraction,
                         .doc = "computations are up to so much longer or shorter, drawn from the seed"}),
       bind<&W::stragglers>({.key = "stragglers",
                             .kind = Kind::kFraction,
                             .doc = "probability of a computation to take \"straggler_factor\" times as long"}),
       bind<&W::straggler_factor>(
           {.key = "straggler_factor", .kind = Kind::kInteger, .doc = "see stragglers", .min = 1, .max = 1000}),
       bind<&W::micro_batches>(
           {.key = "micro_batches", .kind = Kind::kInteger, .doc = "micro-batches of a pipeline", .min = 1, .max = 100'000}),
       bind<&W::tokens>({.key = "tokens",
                         .kind = Kind::kInteger,
                         .doc = "expert-parallel: tokens of each host; \"size\" is that of one token",
                         .min = 1,
                         .max = 10'000'000}),
       without_default(bind<&W::experts>({.key = "experts",
                                          .kind = Kind::kInteger,
                                          .doc = "expert-parallel: experts in all; default: one for each host",
                                          .min = 1,
                                          .max = 1'000'000})),
       bind<&W::experts_per_token>({.key = "experts_per_token",
                                    .kind = Kind::kInteger,
                                    .doc = "expert-parallel: experts of each token, different ones, all equally likely",
                                    .min = 1,
                                    .max = workload::kMaxExpertsPerToken}),
       without_default(bind<&W::eager_size>(
           {.key = "eager_size",
            .kind = Kind::kSize,
            .doc = "messages that wait for each other: larger ones ask first (rendezvous); default: of a GOAL file "
                   "65,535 bytes, else none asks",
            .max = 1ll << 50})),
       bind<&W::hosts>(
           {.key = "hosts",
            .kind = Kind::kTextList,
            .doc = "hosts that take part, in this order: names, with * for any letters and [0-63] for numbers; a further adapter: "
                   "host/device; default: every host with its first adapter"}),
       bind<&W::to>({.key = "to",
                     .kind = Kind::kTextList,
                     .doc = "the receiver of an incast, or hot hosts, written likewise; they take part"}),
       without_default(bind<&W::size>(
           {.key = "size",
            .kind = Kind::kSize,
            .doc =
                "bytes of each flow; left out, and without \"sizes\": flows without end, in the background; of broadcast, all-reduce, "
                "all-gather and reduce-scatter: of the buffer, as nccl-tests counts it",
            .min = 1,
            .max = 1ll << 50})),
       bind<&W::sizes>(
           {.key = "sizes",
            .kind = Kind::kReference,
            .doc =
                "bytes of flows by a distribution: websearch, fb-hadoop, ali-storage, solar, google-rpc, or a file relative to this one with "
                "lines of bytes and the percentage of flows that are not larger"}),
       bind<&W::matrix>(
           {.key = "matrix",
            .kind = Kind::kReference,
            .doc = "all-to-all, instead of a size: a JSON file relative to this one with a list of rows, one for each host, with "
                   "the bytes that it sends to each; to itself it sends nothing"}),
       without_default(
           bind<&W::senders>({.key = "senders",
                              .kind = Kind::kInteger,
                              .doc = "incast: number of senders, the first of the list; default: all but the receiver",
                              .min = 1})),
       bind<&W::distance>({.key = "distance", .kind = Kind::kInteger, .doc = "distance of a shift", .min = 1}),
       without_default(
           bind<&W::share>({.key = "share", .kind = Kind::kFraction, .doc = "hot-spot: share of flows that go to hot hosts"})),
       without_default(bind<&W::load>(
           {.key = "load",
            .kind = Kind::kFraction,
            .doc = "share of each host's link that the payload of its flows takes; they arrive as a Poisson process"})),
       without_default(bind<&W::duration>({.key = "duration",
                                           .kind = Kind::kDuration,
                                           .doc = "with load: flows arrive for so long; left out: as long as the run lasts, in the background",
                                           .min = 1,
                                           .max = kLongest})),
       without_default(
           bind<&W::flows>({.key = "flows",
                            .kind = Kind::kInteger,
                            .doc = "instead of load: how many flows each host sends; one begins when another has ended",
                            .min = 1,
                            .max = 1'000'000})),
       bind<&W::in_flight>({.key = "in_flight",
                            .kind = Kind::kInteger,
                            .doc = "with flows: flows of a host in progress at a time",
                            .min = 1,
                            .max = 4096}),
       bind<&W::start>(
           {.key = "start", .kind = Kind::kDuration, .doc = "virtual time of the first doorbell", .max = kLongest}),
       bind<&W::message_size>({.key = "message_size",
                               .kind = Kind::kSize,
                               .doc = "bytes of one work request; the last of a flow may be shorter",
                               .min = 1,
                               .max = 1ll << 30}),
       bind<&W::operation>({.key = "operation",
                            .kind = Kind::kText,
                            .doc = "write: RDMA WRITE; send: SEND, for which the receiver always has a receive; read: RDMA READ, which the "
                                   "host that the bytes go to asks for, as the client of ib_read_bw does",
                            .choices = {"write", "send", "read"}}),
       bind<&W::queue_pairs>({.key = "queue_pairs",
                              .kind = Kind::kInteger,
                              .doc = "connections of each flow that share its messages",
                              .min = 1,
                              .max = 4096}),
       bind<&W::depth>({.key = "depth",
                        .kind = Kind::kInteger,
                        .doc = "messages of a connection under way at most",
                        .min = 1,
                        .max = 32768}),
       without_default(
           bind<&W::service_level>({.key = "service_level", .kind = Kind::kInteger, .doc = "as of flows", .max = 15})),
       bind<&W::traffic_class>({.key = "traffic_class", .kind = Kind::kInteger, .doc = "as of flows", .max = 255}),
       without_default(bind<&W::acknowledgement_traffic_class>(
           {.key = "acknowledgement_traffic_class", .kind = Kind::kInteger, .doc = "as of flows", .max = 255})),
       bind<&W::on>(
           {.key = "on",
            .kind = Kind::kDuration,
            .doc =
                "flows without end: they post messages for this time, then none for \"off\", and so on; phases are drawn "
                "from the seed; what is posted is sent",
            .max = kLongest}),
       bind<&W::off>({.key = "off", .kind = Kind::kDuration, .doc = "see on", .max = kLongest}),
       bind<&W::background>({.key = "background", .kind = Kind::kBoolean, .doc = "the run does not wait for these flows"}),
       without_default(
           bind<&W::seed>({.key = "seed",
                           .kind = Kind::kInteger,
                           .doc = "seed of its random numbers; left out: they follow from the scenario's seed and the name"}))});
  return table;
}

}  // namespace verbatim::config
