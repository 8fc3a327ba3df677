// The digest of a run: the sum, modulo 2^128, of XXH3-128 over each trace record and its bytes. A record contains its
// component and its sequence number within that component.
//
// The digest therefore depends on what each component records and in which order, but not on how records of different
// components are interleaved: parts of a fabric that run in parallel need not agree on an order.
//
// Different runs have different digests except for a collision of 128 bits:
// - No record occurs twice in a run, because a component never repeats a sequence number. Equal digests of different
//   runs therefore need two different sets of records with equal sums.
// - A record of only one of the runs adds an unrelated hash to one sum. For hash values that are as good as random, the
//   sums of different sets are equal with probability 2^-128. XXH3 ends with a mix that is not linear in either half,
//   so small changes of records (a time, a number) do not cause differences of hashes that cancel out in a sum.
// - The digest protects against accidents, not against a deliberate search for collisions; XXH3 itself does not either.
// - Records swapped within a component change their numbers. A record that moves to another component changes its
//   component and the numbers of later records of both. A duplicated record has another number.
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/trace.h"

namespace verbatim::observe {

// Version of the function and its input. Files that keep a digest name it (version 1 if they do not), because
// digests of different versions cannot be compared.
inline constexpr int kDigestVersion = 2;

class DigestSink final : public TraceSink {
 public:
  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  bool takes_any_order() const override { return true; }

  // 32 hexadecimal digits over all records up to this call; all zeros if nothing was recorded.
  std::string hex() const;

 private:
  std::uint64_t high_ = 0, low_ = 0;
};

}  // namespace verbatim::observe
