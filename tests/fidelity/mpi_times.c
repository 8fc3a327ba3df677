// Times of messages between two ranks, by the loops of the OSU micro-benchmarks: mpi_times latency|bandwidth BYTES...
// Latency is half of a round trip, in us. Bandwidth is that of windows of 64 messages, each window acknowledged by a
// message of 4 bytes, in MB/s.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWindow = 64, kWarmUp = 4, kTag = 1 };

static int rank;
static char *out, *in;

static void round_trip(int bytes) {
  if (rank == 0) MPI_Send(out, bytes, MPI_CHAR, 1, kTag, MPI_COMM_WORLD);
  MPI_Recv(in, bytes, MPI_CHAR, 1 - rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(out, bytes, MPI_CHAR, 0, kTag, MPI_COMM_WORLD);
}

static void window(int bytes) {
  MPI_Request requests[kWindow];
  for (int i = 0; i < kWindow; ++i) {
    if (rank == 0) MPI_Isend(out, bytes, MPI_CHAR, 1, kTag, MPI_COMM_WORLD, &requests[i]);
    if (rank == 1) MPI_Irecv(in, bytes, MPI_CHAR, 0, kTag, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
  if (rank == 0) MPI_Recv(in, 4, MPI_CHAR, 1, kTag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(out, 4, MPI_CHAR, 0, kTag + 1, MPI_COMM_WORLD);
}

// Duration of `count` calls, in us, after some that are not timed.
static double time_of(void (*action)(int), int bytes, int count) {
  for (int i = 0; i < kWarmUp; ++i) action(bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < count; ++i) action(bytes);
  return (MPI_Wtime() - start) * 1e6;
}

int main(int argc, char** argv) {
  enum { kMost = 4 << 20 };
  MPI_Init(&argc, &argv);
  if (argc < 3) return 2;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  out = malloc(kMost);
  in = malloc(kMost);
  memset(out, 'a', kMost);
  memset(in, 'b', kMost);
  const int is_latency = strcmp(argv[1], "latency") == 0;
  for (int i = 2; i < argc; ++i) {
    const int bytes = atoi(argv[i]);
    if (bytes < 1 || bytes > kMost) return 2;
    const int count = is_latency ? 20 : bytes > (64 << 10) ? 2 : 10;
    const double us = time_of(is_latency ? round_trip : window, bytes, count);
    if (rank != 0) continue;
    printf("%s %d %.4f\n", argv[1], bytes, is_latency ? us / (2 * count) : (double)bytes * kWindow * count / us);
  }
  MPI_Finalize();
  return 0;
}
