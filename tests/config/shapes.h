// Texts of topologies that the generator does not have.
#pragma once

#include <string>
#include <vector>

namespace verbatim::config {

struct RingText {
  int switches = 4;
  int hosts = 1;  // at each switch
  std::vector<int> hosts_at = {};  // hosts of each switch; empty: `hosts`
  std::string hca = {}, profile = {};  // profiles of hosts and switches; empty: the defaults
  std::string rate = "EDR";
  std::string link = {};  // more keys of the cables between switches
  std::string more = {};  // more keys of the topology
};

// Hosts h0-0, h0-1, …, switches s0, s1, …; port 1 of a switch leads to the previous switch, port 2 to the next.
inline std::string ring_text(const RingText& of) {
  std::string hosts, nodes, links;
  const auto with = [](const char* key, const std::string& value) { return value.empty() ? "" : ", \"" + std::string(key) + "\": \"" + value + "\""; };
  for (int s = 0; s < of.switches; ++s) {
    const std::string name = "s" + std::to_string(s);
    nodes += std::string(s == 0 ? "" : ", ") + R"({"name": ")" + name + "\"" + with("profile", of.profile) + "}";
    for (int h = 0; h < (of.hosts_at.empty() ? of.hosts : of.hosts_at.at(static_cast<std::size_t>(s))); ++h) {
      const std::string host = "h" + std::to_string(s) + "-" + std::to_string(h);
      hosts += std::string(hosts.empty() ? "" : ", ") + R"({"name": ")" + host + "\"" + with("hca", of.hca) + "}";
      links += R"({"a": ")" + host + R"(", "b": ")" + name + ":" + std::to_string(3 + h) + "\"" + with("rate", of.rate) + "}, ";
    }
  }
  for (int s = 0; s < of.switches; ++s) {
    links += std::string(s == 0 ? "" : ", ") + R"({"a": "s)" + std::to_string(s) + R"(:2", "b": "s)" + std::to_string((s + 1) % of.switches) +
             ":1\"" + with("rate", of.rate) + of.link + "}";
  }
  return R"({"name": "t", "hosts": [)" + hosts + R"(], "switches": [)" + nodes + R"(], "links": [)" + links + "]" + of.more + "}";
}

}  // namespace verbatim::config
