#include "tests/loss/loss_table.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/support/verbatim_run.h"

namespace verbatim::loss {

namespace {

using support::RunReport;

std::string golden_path(const std::string& name) { return VERBATIM_SOURCE_DIR "/tests/loss/golden/" + name; }

std::vector<std::string> lines_with(const std::string& text, const std::string& what) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.find(what) != std::string::npos) lines.push_back(line);
  }
  return lines;
}

// The value after "key=" in a trace line.
std::string value_in(const std::string& line, const std::string& key) {
  const std::size_t at = line.find(key + "=");
  if (at == std::string::npos) return "";
  const std::size_t from = at + key.size() + 1;
  return line.substr(from, line.find(' ', from) - from);
}

// Output of programs on one line, without the addresses and speeds of ibv_rc_pingpong.
std::string said(const std::string& output) {
  std::string text;
  std::istringstream stream(output);
  for (std::string line; std::getline(stream, line);) {
    if (line.find("address:") != std::string::npos) continue;
    if (const std::size_t at = line.find(" in "); at != std::string::npos) line.resize(at);
    text += (text.empty() ? "" : ", ") + line;
  }
  return text;
}

std::string exit_of(const RunReport& report, std::size_t program) {
  const auto& entry = report.report["programs"][program];
  return entry["exit_code"].is_null() ? "never" : std::to_string(entry["exit_code"].get<int>());
}

std::string retransmissions_in(const std::string& trace) {
  static const char* const kCauses[] = {"", "timeout", "sequence-nak", "rnr-nak", "missing-response"};
  std::map<std::string, int> counts;
  for (const std::string& line : lines_with(trace, "  retransmission  ")) {
    ++counts[kCauses[std::stoul(value_in(line, "cause")) % std::size(kCauses)]];
  }
  std::string text;
  for (const auto& [cause, count] : counts) {
    text += (text.empty() ? "" : " ") + cause + "*" + std::to_string(count);
  }
  return text.empty() ? "none" : text;
}

RunReport run(const Sweep& sweep, const std::string& fault) {
  support::RunRequest request;
  request.commands = {"server=" + sweep.server, "client=" + sweep.client};
  if (!fault.empty()) request.options = {"--fault", fault};
  request.trace = true;
  return support::run(request);
}

std::string said_by(const RunReport& report, const std::string& host) {
  const std::string errors = said(report.errors(host));
  return said(report.output(host)) + (errors.empty() ? "" : ", " + errors);
}

std::string outcome(const Sweep& sweep, const RunReport& whole, const std::string& fault) {
  const RunReport report = run(sweep, fault);
  if (!report.report.is_object()) return "no report" + report.story();
  const auto hit = lines_with(report.trace, "  fault  ");
  std::string text = (hit.size() == 1 ? value_in(hit[0], "opcode") : "nothing hit") + " | " +
                     report.report["outcome"].get<std::string>() + ", exit " + exit_of(report, 0) + " " +
                     exit_of(report, 1) + " | again: " + retransmissions_in(report.trace) + ", duplicates " +
                     std::to_string(lines_with(report.trace, "  duplicate-request  ").size());
  bool same = true;
  for (const std::string host : {"server", "client"}) {
    const std::string words = said_by(report, host);
    if (words == said_by(whole, host)) continue;
    text += " | " + host + ": " + words;
    same = false;
  }
  return text + (same ? " | right" : "");
}

// By "client 12 drop".
std::map<std::string, std::string> read_golden(const std::string& name) {
  std::map<std::string, std::string> table;
  std::ifstream file(golden_path(name));
  for (std::string line; std::getline(file, line);) {
    const std::size_t bar = line.find(" | ");
    if (bar != std::string::npos) table[line.substr(0, bar)] = line.substr(bar + 3);
  }
  return table;
}

}  // namespace

void expect_golden_outcomes(const Sweep& sweep) {
  const bool writes = std::getenv("VERBATIM_WRITE_GOLDEN") != nullptr && sweep.every == 1;
  const auto golden = read_golden(sweep.golden);
  const RunReport whole = run(sweep, "");
  ASSERT_EQ(whole.code, 0) << whole.story();
  std::ostringstream table;
  std::size_t runs = 0, number = 0;
  for (const std::string from : {"client", "server"}) {
    const std::size_t packets = lines_with(whole.trace, "port/" + from + ":1  packet-transmitted").size();
    for (std::size_t nth = 1; nth <= packets; ++nth) {
      for (const std::string action : {"drop", "duplicate", "corrupt"}) {
        if (number++ % static_cast<std::size_t>(sweep.every) != 0) continue;
        const std::string key = from + " " + std::to_string(nth) + " " + action;
        const std::string got =
            outcome(sweep, whole, nlohmann::json{{"action", action}, {"from", from}, {"nth", nth}}.dump());
        ++runs;
        table << key << " | " << got << '\n';
        if (writes) continue;
        const auto wanted = golden.find(key);
        EXPECT_EQ(got, wanted == golden.end() ? "not in the table" : wanted->second)
            << key << " of " << sweep.server << "; " << sweep.client;
      }
    }
  }
  if (writes) {
    std::ofstream(golden_path(sweep.golden)) << table.str();
  } else {
    EXPECT_EQ(number, golden.size()) << "the table has a line for each run of the whole sweep";
  }
  EXPECT_GT(runs, 40u);
}

Sweep pingpong_sweep(int every) {
  return {"pingpong.txt", "ibv_rc_pingpong -c -n 20 -s 10000", "ibv_rc_pingpong -c -n 20 -s 10000 server",
          every};
}

Sweep mixed_sweep() {
  return {"mixed.txt", support::quoted(MIXED_PROGRAM), support::quoted(MIXED_PROGRAM) + " server"};
}

Sweep mixed_without_retries_sweep() {
  return {"mixed_without_retries.txt", support::quoted(MIXED_PROGRAM),
          support::quoted(MIXED_PROGRAM) + " -r 0 server"};
}

}  // namespace verbatim::loss
