// mlx5dv in a program that supports mlx5 adapters: its query returns no support, and other calls are refused.
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPECT(condition)                                                \
  do {                                                                   \
    if (!(condition)) {                                                  \
      printf("line %d: %s (errno %d)\n", __LINE__, #condition, errno);   \
      exit(1);                                                           \
    }                                                                    \
  } while (0)

int main(void) {
  int count = 0;
  struct ibv_device** list = ibv_get_device_list(&count);
  EXPECT(list != NULL && count > 0);
  printf("%s\n", ibv_get_device_name(list[0]));
  EXPECT(!mlx5dv_is_supported(list[0]));

  errno = 0;
  struct mlx5dv_context_attr attributes = {.flags = 0};
  EXPECT(mlx5dv_open_device(list[0], &attributes) == NULL && errno == EOPNOTSUPP);

  struct ibv_context* context = ibv_open_device(list[0]);
  EXPECT(context != NULL);
  // perftest of Debian 13 makes no queue pair unless this succeeds.
  struct mlx5dv_context device = {.version = 7, .flags = ~0ull, .comp_mask = ~0ull};
  EXPECT(mlx5dv_query_device(context, &device) == 0);
  EXPECT(device.version == 0 && device.flags == 0 && device.comp_mask == 0);
  struct mlx5dv_clock_info clock;
  EXPECT(mlx5dv_get_clock_info(context, &clock) == EOPNOTSUPP);
  EXPECT(mlx5dv_get_clock_info(context, &clock) == EOPNOTSUPP);
  errno = 0;
  EXPECT(mlx5dv_devx_get_event(NULL, NULL, 0) == -1 && errno == EOPNOTSUPP);
  errno = 0;
  EXPECT(mlx5dv_devx_alloc_uar(context, 0) == NULL && errno == EOPNOTSUPP);
  EXPECT(ibv_close_device(context) == 0);
  ibv_free_device_list(list);
  printf("refused\n");
  return 0;
}
