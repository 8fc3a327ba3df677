// Copies file data and preserves holes.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <functional>

namespace verbatim::supervisor {

// Owns a descriptor; negative: none.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }

 private:
  const int number_;
};

// Copies the data in the first `size` bytes of `from` to the same offsets of `to`; holes are skipped. Before
// each part of at most 1 MiB, `may_copy` is called with the number of its bytes. Returns 0, an errno, or
// ECANCELED if `may_copy` returned false.
int copy_data(int from, int to, off_t size, const std::function<bool(std::uint64_t)>& may_copy);

}  // namespace verbatim::supervisor
