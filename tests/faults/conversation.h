// Two adapters that talk while packets are lost, doubled, corrupted and late: a plan, its run, and what of
// the result the specification does not allow. No processes.
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "sim/faults/fault_script.h"
#include "tests/hca/driver.h"

namespace verbatim::faults {

enum class Kind { kSend, kSendImm, kSendInvalidate, kWrite, kWriteImm, kRead, kFetchAdd, kCompareSwap };

struct Step {
  Kind kind = Kind::kSend;
  std::uint32_t length = 0;
  bool is_fenced = false;
};

// The nth packet that leaves a side's port, and what happens to it.
struct Loss {
  bool from_a = true;
  Action action = Action::kDrop;
  std::uint32_t nth = 1;
  std::uint32_t delay_us = 0;
};

struct Plan {
  std::vector<Step> from_a, from_b;
  std::vector<Loss> losses;
  std::uint8_t max_rd_atomic = 4;
  std::uint32_t first_psn = 1000;
  std::uint32_t ready_receives = 64;  // the others are posted one by one, 200 us apart
  std::uint8_t retry_cnt = 7;
  bool end_to_end_credits = false;
  hca::LossRecoveryProfile recovery;
  std::uint64_t freedom_seed = 0;  // of choices within the specification; 0: none are made
  bool may_fail = false;  // by too many losses in a row: only as specified
};

std::ostream& operator<<(std::ostream& stream, const Plan& plan);

class Conversation {
 public:
  explicit Conversation(const Plan& plan);

  // Runs to the end; "" when every byte, completion and atomic is as it must be, else what is not.
  std::string run();

  test::Pair& pair() { return pair_; }
  // Whether a side got a retry error.
  bool has_failed() const { return has_failed_; }
  std::uint64_t retransmissions() const { return pair_.world.trace.count(TraceEvent::kRetransmission); }

 private:
  using Side = test::Pair::Side;

  // Where things lie in a side's buffer.
  static constexpr std::uint64_t kSlot = 4096, kArea = 256 << 10;
  static constexpr std::uint64_t kOut = 0, kReceived = kArea, kWritten = 2 * kArea, kReadInto = 3 * kArea,
                                 kReadFrom = 4 * kArea, kResults = 5 * kArea, kCounter = 6 * kArea,
                                 kWord = kCounter + 8, kBufferBytes = 7 * kArea;

  test::PairOptions options_of(const Plan& plan);
  static bool consumes(Kind kind) {
    return kind == Kind::kSend || kind == Kind::kSendImm || kind == Kind::kSendInvalidate ||
           kind == Kind::kWriteImm;
  }
  static bool writes(Kind kind) { return kind == Kind::kWrite || kind == Kind::kWriteImm; }
  static std::uint64_t word(Side& side, std::uint64_t offset);
  // Effects of the first `count` steps at the peer.
  struct Effects {
    std::uint64_t counter = 0, word = 0;
    std::size_t receives = 0;
    friend bool operator==(const Effects&, const Effects&) = default;
  };
  static Effects effects_of(const std::vector<Step>& steps, std::size_t count);
  void post_receive(Side& side, std::uint32_t number);
  void post(Side& side, Side& peer, const std::vector<Step>& steps, std::uint8_t seed);
  std::string check(const char* name, Side& side, Side& peer, const std::vector<Step>& steps,
                    std::uint8_t seed);

  const Plan plan_;
  SeededChoices choices_;
  test::Pair pair_;
  bool has_failed_ = false;
  FaultScript script_{pair_.world.engine, pair_.world.tracer};
};

}  // namespace verbatim::faults
