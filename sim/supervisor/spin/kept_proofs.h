// Earlier proofs of poll loops that may hold again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/supervisor/spin/spin_prover.h"

namespace verbatim::spin {

// A turn of a proof, perhaps of another wait: each group of growing values is at a turn of its own.
struct ProofTurn {
  std::vector<std::uint64_t> of_group;  // in the order of PollLoopProof::groups
  std::uint64_t left = kEveryTurn;      // number of turns, from this one on, for which the proof holds
  // PollLoopProof::expected as it is in memory, if compared bytes have other values than in the proof; else
  // empty.
  std::vector<std::uint8_t> bytes;

  // True if the proof holds as it is.
  bool is_first() const;
};

// The turn of the proof that begins in the state of a thread at the same poll: the registers that matter and
// the bytes on which the cycle depends have their values of that turn, and compared bytes any values with the
// same outcome. Code that changes unnoticed is the same. This takes one batched read, and one for each line of
// such code, and interprets nothing. Bytes that the cycle writes before it reads them may differ: a caller that
// skips whole cycles writes `proof.writes`, and must keep the present bytes if the wait ends within the first
// cycle. nullopt: none. Always nullopt for proofs with clocks, and for turns after the first of a proof with
// bounds.
std::optional<ProofTurn> turn_at(const PollLoopProof& proof, const Registers& at_entry, CodeMemory& memory);
// True if it is the first turn.
bool still_holds(const PollLoopProof& proof, const Registers& at_entry, CodeMemory& memory);
// The proof of the turns from this one on. Registers at its polls keep their values.
PollLoopProof from_turn(const PollLoopProof& proof, const ProofTurn& turn);

// The growing cells that a turn reads, with their places in PollLoopProof::expected.
struct ReadCell {
  GrowingCell cell;
  std::size_t at;
};

// The latest proofs of a process. A loop that waits at several places, with several stack depths, or until a
// counter has one of some hundred values alternates between that many proofs.
class KeptProofs {
 public:
  using Proof = std::shared_ptr<const PollLoopProof>;
  struct Found {
    Proof proof;
    ProofTurn turn;
  };

  // Maximum numbers of kept proofs: of turns without growing values, which hold in one state only; of turns
  // of up to kFewPolls polls; and of longer ones, which need more memory.
  static constexpr std::size_t kFewPolls = 8, kExact = 16, kShort = 256, kLong = 32;

  // A proof that reads clocks is not kept, because it holds at its own times only.
  void keep(Proof proof);
  void forget();
  std::size_t count() const { return exact_.kept.size() + short_.kept.size() + long_.kept.size(); }
  // Whether to use a proof that holds for `left` turns from the present one on. Asked before its bytes are compared.
  using IsWanted = std::function<bool(const PollLoopProof& proof, std::uint64_t left)>;
  // Whether a proof that holds in the thread's state also holds in all else that it depends on.
  using IsValid = std::function<bool(const PollLoopProof& proof)>;
  // A proof of a turn that begins in the state of the thread, is wanted and valid: first those of turns of
  // many polls, the latest first. Reads each list of ranges once.
  std::optional<Found> find(const Registers& at_entry, CodeMemory& memory, const IsWanted& is_wanted,
                            const IsValid& is_valid) const;

 private:
  // The bytes that proofs of the same code read, and masks of those and of the registers that are the same in each
  // turn of a proof.
  struct Shape {
    std::vector<MemoryRange> ranges;
    std::vector<std::uint8_t> fixed;  // in the order of PollLoopProof::expected; 0 or 255
    std::uint16_t fixed_registers = 0;  // one bit each, by number; of those that a call preserves
    // Hash of what is the same.
    std::uint64_t hash(const Registers& registers, const std::vector<std::uint8_t>& bytes) const;
  };
  // More shapes than a loop that is worth keeping has.
  static constexpr std::size_t kMostShapes = 64;
  struct Kept {
    Proof proof;
    std::optional<std::vector<ReadCell>> cells;  // nullopt: a turn reads a part of one
    std::size_t shape = 0;                       // index in shapes_
    std::uint64_t hash = 0;                      // Shape::hash() of the proof
  };
  // The oldest is replaced when the list is full.
  struct Ring {
    std::vector<Kept> kept;
    std::size_t next = 0;
    void add(Kept one, std::size_t most);
    void clear();
  };
  std::size_t shape_of(const PollLoopProof& proof, const std::optional<std::vector<ReadCell>>& cells);

  std::vector<Shape> shapes_;
  Ring exact_, short_, long_;
};

}  // namespace verbatim::spin
