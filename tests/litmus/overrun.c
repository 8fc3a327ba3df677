// Registers a buffer of its heap; `buggy` writes behind the buffer's end.
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  struct ibv_device** devices = ibv_get_device_list(NULL);
  struct ibv_context* context = devices == NULL ? NULL : ibv_open_device(devices[0]);
  struct ibv_pd* domain = context == NULL ? NULL : ibv_alloc_pd(context);
  char* bytes = calloc(1, 64);
  struct ibv_mr* region = domain == NULL ? NULL : ibv_reg_mr(domain, bytes, 64, IBV_ACCESS_LOCAL_WRITE);
  if (argc < 2 || region == NULL) return 2;
  bytes[strcmp(argv[1], "buggy") == 0 ? 64 : 63] = 1;
  printf("%d\n", bytes[63]);
  ibv_dereg_mr(region);
  ibv_dealloc_pd(domain);
  ibv_close_device(context);
  ibv_free_device_list(devices);
  free(bytes);
  return 0;
}
