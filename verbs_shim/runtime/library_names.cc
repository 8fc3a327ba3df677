// dlopen() of libibverbs or libmlx5 by a name other than their SONAME, such as "libibverbs.so" or a path. The loader
// knows the shim's libraries by their SONAME only; by another name it would load the machine's library beside them,
// which finds no adapter.
#include <dlfcn.h>
#include <string.h>

#include "verbs_shim/runtime/runtime.h"

namespace verbatim::shim {

namespace {

// The SONAME of the shim's library for the name `asked`; `asked` itself if that is another library.
const char* name_of_own(const char* asked) {
  if (asked == nullptr) return asked;
  const char* file = asked;
  for (const char* at = asked; *at != '\0'; ++at) {
    if (*at == '/') file = at + 1;
  }
  constexpr const char* kOwn[] = {"libibverbs.so.1", "libmlx5.so.1"};
  for (const char* own : kOwn) {
    const std::size_t whole = strlen(own), unversioned = whole - 2;
    if (strncmp(file, own, unversioned) != 0) continue;
    const bool is_same_version = strncmp(file, own, whole) == 0 && (file[whole] == '\0' || file[whole] == '.');
    if (file[unversioned] == '\0' || is_same_version) return own;
  }
  return asked;
}

void* next_dlopen = nullptr;

}  // namespace

struct Opening {
  const char* name;
  void* function;
};

extern "C" __attribute__((used, visibility("hidden"))) Opening verbatim_opening(const char* asked) {
  void* function = __atomic_load_n(&next_dlopen, __ATOMIC_RELAXED);
  if (function == nullptr) {
    function = dlsym(RTLD_NEXT, "dlopen");
    __atomic_store_n(&next_dlopen, function, __ATOMIC_RELAXED);
  }
  return {attached() ? name_of_own(asked) : asked, function};
}

}  // namespace verbatim::shim

// A jump, not a call: dlopen() searches the RUNPATH of the library that its return address is in.
asm(R"(
  .pushsection .text, "ax", @progbits
  .globl dlopen
  .type dlopen, @function
dlopen:
  .cfi_startproc
  push %rsi
  .cfi_adjust_cfa_offset 8
  call verbatim_opening
  pop %rsi
  .cfi_adjust_cfa_offset -8
  mov %rax, %rdi
  jmp *%rdx
  .cfi_endproc
  .size dlopen, . - dlopen
  .popsection
)");
