// One run of the built `verbatim` and everything it left behind: what it printed, how it ended, run.json, the
// programs' output, the trace. The suites that run whole programs use nothing else.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace verbatim::support {

// In the source tree, independent of the working directory.
std::string topology(const std::string& name);  // "two_hosts" -> …/topologies/two_hosts.json
// The built executable.
std::string verbatim_program();

struct RunRequest {
  std::string topology = "two_hosts";              // name in topologies/, or a path
  std::vector<std::string> commands;               // "server=ibv_rc_pingpong"
  std::string scenario;                            // a file instead of topology and commands
  std::vector<std::string> options;                // beyond --topology, --out and --trace
  bool trace = false;                              // keep the text trace
  std::string program;                             // another executable than the one built
  std::string working_directory;                   // default: the source tree
  std::map<std::string, std::string> environment;  // added to the test's own
  std::vector<std::string> wrapper;                // before all of it: {"taskset", "-c", "0"}
};

struct RunReport {
  int code = -1;         // 128 + signal when one ended verbatim itself
  std::string out, err;  // of verbatim
  double wall_seconds = 0;
  nlohmann::json report;  // run.json; null when there is none
  std::string trace;
  std::map<std::string, std::string> outputs;  // "server.stdout" -> bytes
  std::string command;                         // to repeat it by hand

  std::string digest() const;
  const std::string& output(const std::string& host) const;
  const std::string& errors(const std::string& host) const;
  double virtual_ms() const;
  // The whole output of the run, for a failing test.
  std::string story() const;
};

RunReport run(const RunRequest& request);
// The usual pair: the server's command, then the client's.
RunReport run_pair(const std::string& server, const std::string& client,
                   const std::string& topology = "two_hosts");

// A path with any characters, quoted as one word of a command.
std::string quoted(const std::string& path);

// Whole content of a file, "" when there is none.
std::string text_of_file(const std::string& path);
// A folder that is removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace verbatim::support
