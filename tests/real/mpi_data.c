// Every rank checks its results: allreduce, alltoall, broadcast and, unless an argument is "no-windows",
// one-sided put, get and accumulate.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int wrong = 0;
#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition) && wrong++ < 3) printf("line %d: not so: %s\n", __LINE__, #condition); \
  } while (0)
enum { kCount = 3000 };

static void use_windows(int rank, int size) {
  long* shared; MPI_Win window;
  MPI_Win_allocate(sizeof(long) * (size + 1), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &window);
  for (int i = 0; i <= size; ++i) shared[i] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_fence(0, window);
  long value = 100 + rank, one = 1;
  for (int to = 0; to < size; ++to) {
    MPI_Put(&value, 1, MPI_LONG, to, rank, 1, MPI_LONG, window);
    MPI_Accumulate(&one, 1, MPI_LONG, to, size, 1, MPI_LONG, MPI_SUM, window);
  }
  MPI_Win_fence(0, window);
  for (int i = 0; i < size; ++i) CHECK(shared[i] == 100 + i);
  CHECK(shared[size] == size);
  long got = 0;
  MPI_Get(&got, 1, MPI_LONG, (rank + 1) % size, rank, 1, MPI_LONG, window);
  MPI_Win_fence(0, window);
  CHECK(got == 100 + rank);
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long* mine = malloc(sizeof(long) * kCount), *sum = malloc(sizeof(long) * kCount);
  for (int i = 0; i < kCount; ++i) mine[i] = (long)rank * i + 1;
  MPI_Allreduce(mine, sum, kCount, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < kCount; ++i) CHECK(sum[i] == (long)size * (size - 1) / 2 * i + size);
  int* out = malloc(sizeof(int) * size * 500), *in = malloc(sizeof(int) * size * 500);
  for (int i = 0; i < size * 500; ++i) out[i] = rank * 1000000 + i;
  MPI_Alltoall(out, 500, MPI_INT, in, 500, MPI_INT, MPI_COMM_WORLD);
  for (int from = 0; from < size; ++from)
    for (int i = 0; i < 500; ++i) CHECK(in[from * 500 + i] == from * 1000000 + rank * 500 + i);
  char* large = malloc(1 << 20);
  for (int i = 0; i < 1 << 20; ++i) large[i] = rank == 0 ? (char)(i * 3) : 0;
  MPI_Bcast(large, 1 << 20, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 1 << 20; ++i) CHECK(large[i] == (char)(i * 3));
  if (argc == 1) use_windows(rank, size);
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d wrong\n", size, all);
  MPI_Finalize();
  return wrong != 0;
}
