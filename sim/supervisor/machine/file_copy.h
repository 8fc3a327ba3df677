// Copying the data of files with their holes.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <functional>

namespace verbatim::supervisor {

// A descriptor that is closed with the object; negative: none.
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

// Copies what is in the first `size` bytes of `from` to the same places in `to`; holes are left out. Before each part of at most
// 1 MiB is written, `may_copy` is asked with its number of bytes. 0, errno, or ECANCELED when the answer was no.
int copy_data(int from, int to, off_t size, const std::function<bool(std::uint64_t)>& may_copy);

}  // namespace verbatim::supervisor
