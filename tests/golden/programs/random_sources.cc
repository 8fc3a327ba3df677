// Random numbers from all sources of C++ and C: each name accepted by std::random_device, and the underlying
// sources. Missing sources are reported.
#include <sys/auxv.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>

int main() {
  for (const char* token : {"default", "rand_s", "rdseed", "rdrand", "rdrnd", "hw", "hardware", "getentropy",
                            "arc4random", "/dev/urandom", "/dev/random", "prng", "mt19937"}) {
    try {
      std::random_device device(token);
      std::printf("%s:", token);
      for (int i = 0; i < 4; ++i) std::printf(" %08x", device());
      std::printf("\n");
    } catch (const std::exception&) {
      std::printf("%s: not there\n", token);
    }
  }
  unsigned long long words[2];
  std::printf("getrandom: %zd", getrandom(words, sizeof words, 0));
  std::printf(" %016llx %016llx\n", words[0], words[1]);
  std::printf("getentropy: %d", getentropy(words, sizeof words));
  std::printf(" %016llx %016llx\n", words[0], words[1]);
  const auto* start = reinterpret_cast<const unsigned long long*>(getauxval(AT_RANDOM));
  std::printf("AT_RANDOM: %016llx %016llx\n", start[0], start[1]);
  std::mt19937_64 engine{std::random_device()()};
  std::printf("an engine: %016llx\n", static_cast<unsigned long long>(engine()));
  return 0;
}
