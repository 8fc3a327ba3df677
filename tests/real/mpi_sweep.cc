// Slow: MPI with more ranks, several on a host, on both link layers; mpi_test.cc has the short runs.
#include <gtest/gtest.h>

#include "tests/real/mpi.h"

namespace verbatim::real {
namespace {

using Library = Ranks::Library;

constexpr Ranks kRanks[] = {
    {"open_mpi_4_on_2", Library::kOpenMpiOverUcx, "two_hosts", 2, 2},
    {"open_mpi_4_on_4", Library::kOpenMpiOverUcx, "star_8", 4, 1},
    {"open_mpi_2_roce", Library::kOpenMpiOverUcx, "two_hosts_roce", 2, 1},
    {"open_mpi_libfabric_2", Library::kOpenMpiOverLibfabric, "two_hosts", 2, 1},
    {"open_mpi_libfabric_4_on_2_roce", Library::kOpenMpiOverLibfabric, "two_hosts_roce", 2, 2},
    {"mpich_4_on_4", Library::kMpich, "star_8", 4, 1},
    {"mpich_2_roce", Library::kMpich, "two_hosts_roce", 2, 1},
    {"mpich_4_on_2_roce", Library::kMpich, "two_hosts_roce", 2, 2},
    {"open_mpi_8_on_4", Library::kOpenMpiOverUcx, "star_8", 4, 2},
    {"open_mpi_16_on_8", Library::kOpenMpiOverUcx, "star_8", 8, 2},
    {"mpich_8_on_4", Library::kMpich, "star_8", 4, 2},
    {"mpich_16_on_8", Library::kMpich, "star_8", 8, 2},
};

class MpiSweep : public testing::TestWithParam<Ranks> {};

TEST_P(MpiSweep, ranks_get_the_right_data) { run_ranks(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Ranks, MpiSweep, testing::ValuesIn(kRanks), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace verbatim::real
