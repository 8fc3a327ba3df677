// Opens each library that an argument names, and prints how many adapters it finds. The RUNPATH of this program is the
// folder with libbeside.so.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    void* const library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      puts(dlerror());
      continue;
    }
    void* (*list)(int*);
    *(void**)&list = dlsym(library, "ibv_get_device_list");
    int count = 0;
    if (list == NULL) {
      printf("%s: no ibv_get_device_list\n", argv[i]);
    } else {
      list(&count);
      printf("%s: %d adapter%s\n", argv[i], count, count == 1 ? "" : "s");
    }
  }
  return 0;
}
