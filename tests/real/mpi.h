// Ranks of MPI on simulated hosts, started by the launchers of Open MPI and MPICH over ssh.
#pragma once

#include <string>

namespace verbatim::real {

struct Ranks {
  const char* name;
  enum class Library { kOpenMpiOverUcx, kOpenMpiOverLibfabric, kOpenMpiOverVerbs, kMpich } implementation;
  const char* topology;
  int hosts;     // the topology's first ones, called server and client, or h0, h1, …
  int per_host;  // ranks
};

// Runs `mpi_data.c` twice: every rank checks what it gets, and both runs have one digest. Skipped without the library's compiler.
void run_ranks(const Ranks& ranks);

}  // namespace verbatim::real
