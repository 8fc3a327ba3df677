// The parts below the ladder of `verbatim report`: queue levels, regions and their writers, the fabric, and
// threads with the reasons of their waits. Made from the facts beside the trace (run_facts.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/verbatim/run_picture.h"

namespace verbatim::cli {

struct RunSides {
  struct Queue {
    std::string host, name;  // "CQ 128", "RQ of QP 72", "SRQ 5"
    std::uint32_t entries = 0;
    bool is_receive = false;  // a low level matters, else a high one
    // For each part of the time with packets; -1: not observed.
    BinnedValues least{BinnedValues::Join::kLeast, -1}, most{BinnedValues::Join::kMost, -1};
    std::int64_t least_of_all = -1, most_of_all = -1;
  };
  struct Region {
    std::string host;
    std::uint64_t process = 0, handle = 0, va = 0, iova = 0, length = 0, access = 0;  // access: ibv_access_flags
    std::uint64_t lkey = 0, rkey = 0;
    std::int64_t from_ps = 0, to_ps = -1;  // -1: until the end
    std::uint64_t written = 0;             // bytes, by adapters
  };
  // Adjacent bytes written by packets of one queue pair.
  struct Write {
    std::int64_t from_ps = 0, to_ps = 0;
    std::int32_t region = -1;  // index in `regions`; -1: unknown
    std::uint64_t va = 0, length = 0;
    int column = 0;            // of the picture: the queue pair that received them
    bool is_response = false;  // response to its own READ or atomic
  };
  struct Cable {
    std::string a, b, rate;  // "server:1", "leaf0:1"
  };
  struct Node {
    std::string name;
    bool is_switch = false;
  };
  struct Thread {
    std::string host;
    std::uint64_t pid = 0, tid = 0;
    std::int64_t from_ps = 0, to_ps = -1;  // as far as observed; -1: until the end
  };
  // Waits for the same reason with hardly any time between them are joined.
  struct Wait {
    std::uint32_t thread = 0;
    std::int64_t from_ps = 0, to_ps = 0, waited_ps = 0;
    std::uint32_t count = 0;
    std::string what;
  };
  // Limits: further writes are only counted; further waits are joined with their neighbours.
  static constexpr std::size_t kMostWrites = 200'000, kMostWaits = 20'000;

  std::vector<Queue> queues;
  std::vector<Region> regions;
  std::vector<Write> writes;
  std::uint64_t writes_left_out = 0;
  std::vector<Node> nodes;
  std::vector<Cable> cables;
  std::vector<Thread> threads;
  std::vector<Wait> waits;
};

RunSides sides_of(const RecordedRun& run, const RunPicture& picture);

}  // namespace verbatim::cli
