// Commands of shells and other programs for a pair of hosts.
#pragma once

#include <string>
#include <vector>

namespace verbatim::real {

using Commands = std::vector<std::string>;

// bash: pipes, jobs, substitutions, traps.
Commands pipelines();
// nc sends the output of a pipeline to another host.
Commands netcat();
Commands iperf3();
// openssl s_server and s_client; both files are PEM.
Commands make_certificate(const std::string& key, const std::string& certificate);
Commands tls(const std::string& key, const std::string& certificate);
// Python: multiprocessing in most of its forms, other programs' output.
Commands python_processes();

}  // namespace verbatim::real
