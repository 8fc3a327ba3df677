// Two ranks exchange messages: mpi_pingpong BYTES COUNT.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3) return 2;
  const int bytes = atoi(argv[1]), count = atoi(argv[2]);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* const out = malloc(bytes);
  char* const in = malloc(bytes);
  memset(out, 'a' + rank, bytes);
  for (int i = 0; i < count; ++i) {
    if (rank == 0) MPI_Send(out, bytes, MPI_CHAR, 1, i, MPI_COMM_WORLD);
    MPI_Recv(in, bytes, MPI_CHAR, 1 - rank, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(out, bytes, MPI_CHAR, 0, i, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%c\n", in[bytes - 1]);
  MPI_Finalize();
  return 0;
}
