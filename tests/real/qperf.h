// qperf between two far hosts, and the figures that follow from distance and rate.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tests/support/verbatim_run.h"

namespace verbatim::real {

struct QperfTest {
  std::string name;
  std::string figure;          // of its report: "latency", "bw", …
  double least = 0, most = 0;  // in `unit`
  std::string unit;
  friend void PrintTo(const QperfTest& test, std::ostream* out) { *out << test.name; }
};

// Every verbs test that Debian's qperf has.
const std::vector<QperfTest>& qperf_tests();
const QperfTest& qperf_test(const std::string& name);
support::RunRequest qperf_request(const QperfTest& test);
// The figure is in its range, and there were no other errors.
void expect_figure(const QperfTest& test, const support::RunReport& run);

}  // namespace verbatim::real
