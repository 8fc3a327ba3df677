// Reads captures with tshark, mainly management datagrams.
#pragma once

#include <set>
#include <string>

#include "tests/support/verbatim_run.h"

namespace verbatim::real {

// Output of a shell command.
std::string output_of(const std::string& command);

bool tshark_is_installed();
// A line for each packet that the display filter takes, its fields apart by tabs; `fields`: "-e FIELD ...".
std::string tshark_fields(const std::string& capture, const std::string& filter, const std::string& fields);
// Runs the request with a capture to `file` and gives the fields of every management datagram in it, "0x07\t0x0010", each value
// once. The test fails when the run does or when tshark finds a datagram malformed.
std::set<std::string> captured_datagrams(support::RunRequest request, const std::string& file, const std::string& fields);

}  // namespace verbatim::real
