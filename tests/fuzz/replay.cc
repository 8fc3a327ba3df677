// Runs a fuzz target without libFuzzer: `NAME_replay [--random N] [--seed S] FILE|FOLDER…`. Every file is an
// input; then N more are made from them by seeded mutations, or from nothing. If an input ends the program,
// it is named: `--seed S --random N --only I` runs the I-th made input only, `--write FILE` also stores it.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "sim/core/rng.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int* argc, char*** argv);
// Errors found by a sanitizer raise a signal, so that the input is named.
extern "C" const char* __asan_default_options();
extern "C" const char* __ubsan_default_options();
extern "C" const char* __asan_default_options() { return "abort_on_error=1"; }
extern "C" const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

namespace {

namespace fs = std::filesystem;
using Input = std::vector<std::uint8_t>;

char running[512];

void tell(int signal) {
  // Not safe in a handler of a program that continues; this one ends.
  const char text[] = "\nwhile running ";
  if (write(2, text, sizeof text - 1) < 0 || write(2, running, std::strlen(running)) < 0 ||
      write(2, "\n", 1) < 0) {
    _exit(1);
  }
  ::signal(signal, SIG_DFL);
  raise(signal);
}

Input read_input(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Input(std::istreambuf_iterator<char>(file), {});
}

// One to eight changes: bytes turned, taken out, put in, repeated, taken over from another input; or an input
// that has nothing to do with any.
Input make_input(verbatim::Rng& random, const std::vector<Input>& corpus) {
  constexpr std::size_t kLongest = 4096;
  Input input;
  if (corpus.empty() || random.chance(1, 16)) {
    input.resize(random.below(kLongest));
    for (std::uint8_t& byte : input) byte = static_cast<std::uint8_t>(random.next());
    return input;
  }
  input = corpus[random.below(corpus.size())];
  for (std::uint64_t changes = 1 + random.below(8); changes > 0; --changes) {
    const auto at = [&](const Input& of) { return static_cast<std::ptrdiff_t>(random.below(of.size() + 1)); };
    const std::ptrdiff_t place = at(input);
    const auto length = [&](const Input& of, std::ptrdiff_t from) {
      const auto rest = static_cast<std::uint64_t>(static_cast<std::ptrdiff_t>(of.size()) - from);
      return static_cast<std::ptrdiff_t>(random.below(std::min<std::uint64_t>(rest, 64) + 1));
    };
    switch (random.below(5)) {
      case 0:
        if (place < static_cast<std::ptrdiff_t>(input.size()))
          input[static_cast<std::size_t>(place)] ^= static_cast<std::uint8_t>(1u << random.below(8));
        break;
      case 1:
        if (place < static_cast<std::ptrdiff_t>(input.size()))
          input[static_cast<std::size_t>(place)] = static_cast<std::uint8_t>(random.next());
        break;
      case 2:
        input.erase(input.begin() + place, input.begin() + place + length(input, place));
        break;
      case 3: {
        const Input piece(input.begin() + place, input.begin() + place + length(input, place));
        input.insert(input.begin() + at(input), piece.begin(), piece.end());
        break;
      }
      default: {
        const Input& other = corpus[random.below(corpus.size())];
        const std::ptrdiff_t from = at(other);
        const Input piece(other.begin() + from, other.begin() + from + length(other, from));
        input.insert(input.begin() + place, piece.begin(), piece.end());
        break;
      }
    }
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t count = 0, seed = 1;
  std::int64_t only = -1;
  std::string keep;
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return ++i < argc ? argv[i] : "0"; };
    if (word == "--random") {
      count = std::strtoull(value(), nullptr, 10);
    } else if (word == "--seed") {
      seed = std::strtoull(value(), nullptr, 10);
    } else if (word == "--only") {
      only = std::strtoll(value(), nullptr, 10);
    } else if (word == "--write") {
      keep = value();
    } else if (fs::is_directory(word)) {
      for (const auto& entry : fs::directory_iterator(word)) files.push_back(entry.path());
    } else {
      files.push_back(word);
    }
  }
  std::sort(files.begin(), files.end());
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGALRM}) ::signal(signal, tell);

  std::vector<Input> corpus;
  const auto run = [](const Input& input) {
    alarm(60);  // an input that takes so long has found a hang
    LLVMFuzzerTestOneInput(input.data(), input.size());
  };
  for (const fs::path& file : files) {
    if (!fs::is_regular_file(file)) {
      std::fprintf(stderr, "there is no file %s\n", file.c_str());
      return 2;
    }
    corpus.push_back(read_input(file));
  }
  if (LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&argc, &argv);
  for (std::size_t i = 0; i < files.size() && only < 0; ++i) {
    std::snprintf(running, sizeof running, "%s", files[i].c_str());
    run(corpus[i]);
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    if (only >= 0 && static_cast<std::uint64_t>(only) != i) continue;
    verbatim::Rng random(seed, "fuzz/" + std::to_string(i));
    const Input input = make_input(random, corpus);
    if (!keep.empty()) {
      std::ofstream(keep, std::ios::binary)
          .write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
    }
    std::snprintf(running, sizeof running, "made input %llu: --seed %llu --random %llu --only %llu",
                  static_cast<unsigned long long>(i), static_cast<unsigned long long>(seed),
                  static_cast<unsigned long long>(count), static_cast<unsigned long long>(i));
    run(input);
  }
  std::printf("%zu inputs of the corpus and %llu made from them\n", corpus.size(),
              static_cast<unsigned long long>(count));
  return 0;
}
