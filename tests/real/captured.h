// Reads captures with tshark, mainly management datagrams.
#pragma once

#include <set>
#include <string>

#include "tests/support/verbatim_run.h"

namespace verbatim::real {

// The output of a shell command.
std::string output_of(const std::string& command);

bool tshark_is_installed();
// One line for each packet that matches the display filter, with fields separated by tabs; `fields`: "-e FIELD ...".
std::string tshark_fields(const std::string& capture, const std::string& filter, const std::string& fields);
// Runs the request with a capture to `file` and returns the distinct fields of all management datagrams in
// it, "0x07\t0x0010". The test fails if the run does or if tshark finds a malformed datagram.
std::set<std::string> captured_datagrams(support::RunRequest request, const std::string& file, const std::string& fields);

}  // namespace verbatim::real
