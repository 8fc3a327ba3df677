// The digest of a run: the sum, modulo 2^128, of XXH3-128 over each trace record and the bytes that belong to it. A record names
// its component and its number among those of this component.
//
// So the digest depends on what each component records and in which order, and not on how the records of different components
// are interleaved: parts of a fabric that run at once need not agree on an order.
//
// Two runs that differ have different digests but for a collision of 128 bits:
// - No record occurs twice in a run, as no component gives a number twice. So equal digests of different runs need two different
//   sets of records with equal sums.
// - A record that only one of two runs has adds a hash to one sum that is in no relation to the others: for functions whose
//   values are as good as drawn, sums of different sets agree with a probability of 2^-128. XXH3 ends with a mix that is not
//   linear in either half, so that small differences of a record (a time, a number) do not lead to differences of hashes that
//   could cancel each other out in a sum.
// - It protects from accidents, not from somebody who looks for a collision: neither does XXH3 by itself.
// - Records swapped within a component change their numbers; a record that moves to another component changes its component,
//   and the numbers of those behind it in both; a doubled one has another number.
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/trace.h"

namespace verbatim::observe {

// The version of the function and of what goes into it. Files that keep a digest name it (those that do not: 1), as digests of
// different versions say nothing about each other.
inline constexpr int kDigestVersion = 2;

class DigestSink final : public TraceSink {
 public:
  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  bool takes_any_order() const override { return true; }

  // 32 hexadecimal digits over everything so far; may be asked at any time. 0 … 0: nothing was recorded.
  std::string hex() const;

 private:
  std::uint64_t high_ = 0, low_ = 0;
};

}  // namespace verbatim::observe
