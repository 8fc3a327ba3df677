// Included by the copies of sources that `plant` makes. A mutant is one planted mistake, with a number from 1
// on. VERBATIM_MUTANT=N in the environment activates mutant N. VERBATIM_MUTANTS_SEEN names a file of one byte
// for each mutant, in which those that are executed are marked.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace verbatim::mutation {

inline constexpr int kMost = 16'384;  // mutants

inline unsigned char* seen_bytes() {
  const char* const name = std::getenv("VERBATIM_MUTANTS_SEEN");
  if (name == nullptr) return nullptr;
  const int file = ::open(name, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const at = ::mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  return at == MAP_FAILED ? nullptr : static_cast<unsigned char*>(at);
}

inline int active_mutant() {
  const char* const number = std::getenv("VERBATIM_MUTANT");
  return number == nullptr ? 0 : std::atoi(number);
}

inline const int active = active_mutant();
inline unsigned char* const seen = seen_bytes();

inline bool on(int number) {
  if (seen != nullptr) seen[number] = 1;
  return number == active;
}

// `a < Replaced<Less, LessEqual>{7} < b` is `a < b`, and with mutant 7 `a <= b`. The first operator keeps
// its precedence, and neither operand has to be found in the text.
template <class Usual, class Mutant>
struct Replaced {
  int number;
};
template <class Left, class Usual, class Mutant>
struct Bound {
  const Left& left;
  int number;
};

#define VERBATIM_MUTANT_OPERATION(Name, op)            \
  struct Name {                                        \
    template <class A, class B>                        \
    static decltype(auto) of(const A& a, const B& b) { \
      return a op b;                                   \
    }                                                  \
  };
VERBATIM_MUTANT_OPERATION(Less, <)
VERBATIM_MUTANT_OPERATION(LessEqual, <=)
VERBATIM_MUTANT_OPERATION(Greater, >)
VERBATIM_MUTANT_OPERATION(GreaterEqual, >=)
VERBATIM_MUTANT_OPERATION(Equal, ==)
VERBATIM_MUTANT_OPERATION(Unequal, !=)
VERBATIM_MUTANT_OPERATION(Plus, +)
VERBATIM_MUTANT_OPERATION(Minus, -)
VERBATIM_MUTANT_OPERATION(And, &)
VERBATIM_MUTANT_OPERATION(Or, |)
VERBATIM_MUTANT_OPERATION(Left, <<)
VERBATIM_MUTANT_OPERATION(Right, >>)
#undef VERBATIM_MUTANT_OPERATION

#define VERBATIM_MUTANT_PRECEDENCE(op)                                                \
  template <class A, class Usual, class Mutant>                                       \
  Bound<A, Usual, Mutant> operator op(const A& a, Replaced<Usual, Mutant> replaced) { \
    return {a, replaced.number};                                                      \
  }                                                                                   \
  template <class A, class B, class Usual, class Mutant>                              \
  auto operator op(Bound<A, Usual, Mutant> a, const B& b) {                           \
    return on(a.number) ? Mutant::of(a.left, b) : Usual::of(a.left, b);               \
  }
VERBATIM_MUTANT_PRECEDENCE(<)
VERBATIM_MUTANT_PRECEDENCE(==)
VERBATIM_MUTANT_PRECEDENCE(+)
VERBATIM_MUTANT_PRECEDENCE(&)
VERBATIM_MUTANT_PRECEDENCE(|)
VERBATIM_MUTANT_PRECEDENCE(<<)
#undef VERBATIM_MUTANT_PRECEDENCE

template <class A>
A least(int number, const A& a, const A& b) {
  return on(number) ? std::max(a, b) : std::min(a, b);
}
template <class A>
A most(int number, const A& a, const A& b) {
  return on(number) ? std::min(a, b) : std::max(a, b);
}

}  // namespace verbatim::mutation
