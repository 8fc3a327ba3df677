#include "tests/real/captured.h"

#include <array>
#include <cstdio>
#include <sstream>

namespace verbatim::real {

std::string output_of(const std::string& command) {
  std::string text;
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  std::array<char, 4096> bytes;
  while (const std::size_t n = fread(bytes.data(), 1, bytes.size(), pipe)) text.append(bytes.data(), n);
  pclose(pipe);
  return text;
}

bool tshark_is_installed() { return std::system("tshark --version > /dev/null 2>&1") == 0; }

std::string tshark_fields(const std::string& capture, const std::string& filter, const std::string& fields) {
  return output_of("tshark -r " + support::quoted(capture) + " -Y " + support::quoted(filter) + " -T fields " + fields +
                   " 2>/dev/null");
}

std::set<std::string> captured_datagrams(support::RunRequest request, const std::string& file, const std::string& fields) {
  request.options.insert(request.options.end(), {"--pcap", file});
  const support::RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  std::istringstream lines(tshark_fields(file, "infiniband.mad", fields + " -e _ws.malformed"));
  std::set<std::string> seen;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(line.back(), '\t') << "malformed: " << line << "\n" << run.story();
    seen.insert(line.substr(0, line.rfind('\t')));
  }
  return seen;
}

}  // namespace verbatim::real
