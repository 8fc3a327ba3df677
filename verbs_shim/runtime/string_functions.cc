// The <string.h> functions that the runtime uses or to which the compiler emits calls. They are in the
// runtime's own image because a poke that interrupts a thread in the C library assumes that the thread
// executes its program (on_poke), which must not happen within an exchange. They use no vector registers,
// which are the program's.
#include <cstddef>

#define OWN __attribute__((visibility("hidden")))

extern "C" {

OWN void* memcpy(void* to, const void* from, std::size_t size) {
  void* end = to;
  asm volatile("rep movsb" : "+D"(end), "+S"(from), "+c"(size) : : "memory");
  return to;
}

OWN void* memmove(void* to, const void* from, std::size_t size) {
  auto* out = static_cast<char*>(to);
  const auto* in = static_cast<const char*>(from);
  if (static_cast<std::size_t>(out - in) >= size) return memcpy(to, from, size);
  while (size-- != 0) out[size] = in[size];
  return to;
}

OWN void* memset(void* to, int value, std::size_t size) {
  void* end = to;
  asm volatile("rep stosb" : "+D"(end), "+c"(size) : "a"(value) : "memory");
  return to;
}

OWN int memcmp(const void* a, const void* b, std::size_t size) {
  const auto* left = static_cast<const unsigned char*>(a);
  const auto* right = static_cast<const unsigned char*>(b);
  for (std::size_t i = 0; i < size; ++i) {
    if (left[i] != right[i]) return left[i] - right[i];
  }
  return 0;
}

OWN int bcmp(const void* a, const void* b, std::size_t size) { return memcmp(a, b, size); }

OWN void* memchr(const void* in, int value, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(in);
  for (std::size_t i = 0; i < size; ++i) {
    if (bytes[i] == static_cast<unsigned char>(value)) return const_cast<unsigned char*>(bytes + i);
  }
  return nullptr;
}

OWN std::size_t strnlen(const char* text, std::size_t most) {
  std::size_t length = 0;
  while (length < most && text[length] != 0) ++length;
  return length;
}

OWN std::size_t strlen(const char* text) { return strnlen(text, static_cast<std::size_t>(-1)); }

OWN int strncmp(const char* a, const char* b, std::size_t most) {
  for (std::size_t i = 0; i < most; ++i) {
    if (a[i] != b[i]) return static_cast<unsigned char>(a[i]) - static_cast<unsigned char>(b[i]);
    if (a[i] == 0) break;
  }
  return 0;
}

OWN int strcmp(const char* a, const char* b) { return strncmp(a, b, static_cast<std::size_t>(-1)); }

OWN char* strstr(const char* in, const char* wanted) {
  const std::size_t length = strlen(wanted);
  for (; strncmp(in, wanted, length) != 0; ++in) {
    if (*in == 0) return nullptr;
  }
  return const_cast<char*>(in);
}

}  // extern "C"
