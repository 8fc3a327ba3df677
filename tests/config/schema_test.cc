// The published schemas are up to date, and they accept and refuse what the checker does, as far as a schema
// can.
#include "sim/config/schema.h"

#include <gtest/gtest.h>

#include <map>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "sim/config/tables.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

std::string schema_text(const std::string& name) {
  for (const auto& [file, text] : published_schemas()) {
    if (file == name + ".schema.json") return text;
  }
  ADD_FAILURE() << "no schema " << name;
  return "{}";
}

// Made once: making all schemas takes a thousand times as long as reading a file by one.
const valijson::Schema& schema_of(const std::string& name) {
  static std::map<std::string, valijson::Schema> schemas;
  const auto [it, is_new] = schemas.try_emplace(name);
  if (is_new) {
    const auto json = nlohmann::json::parse(schema_text(name));
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    valijson::adapters::NlohmannJsonAdapter adapter(json);
    parser.populateSchema(adapter, it->second);
  }
  return it->second;
}

bool schema_accepts(const std::string& name, const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  valijson::Validator validator;
  valijson::adapters::NlohmannJsonAdapter target(json);
  return validator.validate(schema_of(name), target, nullptr);
}

// Checks one file with the table, without other files or checks of several values.
bool table_accepts(const std::string& name, const std::string& text) {
  const std::pair<const char*, const Object*> kTables[] = {{"topology", &topology_table()},
                                                           {"scenario", &scenario_table()},
                                                           {"hca_profile", &hca_profile_table()},
                                                           {"switch_profile", &switch_profile_table()},
                                                           {"cpu_profile", &cpu_profile_table()}};
  for (const auto& [table_name, table] : kTables) {
    if (name != table_name) continue;
    Diagnostics diagnostics;
    const auto json = parse_json(text, "x", diagnostics);
    void* target = table->make_default();
    check_object(*json, *table, target, "x", "", diagnostics);
    table->destroy(target);
    return diagnostics.empty();
  }
  ADD_FAILURE();
  return false;
}

TEST(Schema, committed_files_are_up_to_date) {
  for (const auto& [name, text] : published_schemas()) {
    Diagnostics diagnostics;
    const auto committed =
        read_file(std::string(VERBATIM_SOURCE_DIR "/topologies/schema/") + name, diagnostics);
    ASSERT_TRUE(committed.has_value()) << name;
    EXPECT_TRUE(*committed == text) << name
                                    << " is out of date; run: build/verbatim schema topologies/schema";
  }
}

TEST(Schema, accepts_the_shipped_files) {
  const std::pair<const char*, const char*> kFiles[] = {
      {"topology", "topologies/two_hosts.json"},
      {"topology", "topologies/two_hosts_direct.json"},
      {"scenario", "scenarios/rc_pingpong.json"},
      {"hca_profile", "topologies/profiles/edr_hca.json"},
      {"cpu_profile", "topologies/profiles/cpu.json"},
      {"switch_profile", "topologies/profiles/edr_switch.json"}};
  for (const auto& [name, path] : kFiles) {
    Diagnostics diagnostics;
    const auto text = read_file(std::string(VERBATIM_SOURCE_DIR "/") + path, diagnostics);
    ASSERT_TRUE(text.has_value());
    EXPECT_TRUE(schema_accepts(name, *text)) << path;
  }
}

struct Case {
  const char* schema;
  bool good;
  const char* text;
};

const Case kCases[] = {
    {"switch_profile", true, R"({"profile": "switch", "name": "s"})"},
    {"switch_profile", true, R"({"profile": "switch", "name": "s", "core_clock": "0.4 GHz"})"},
    {"switch_profile", true,
     R"({"profile": "switch", "name": "s", "core_clock": {"value": "400MHz", "source": "x"}})"},
    {"switch_profile", true, R"({"profile": "switch", "name": {"value": "s"}, "virtual_lanes": 15})"},
    {"switch_profile", false, R"({"profile": "hca", "name": "s"})"},
    {"switch_profile", false, R"({"profile": "switch"})"},
    {"switch_profile", false, R"({"name": "s"})"},
    {"switch_profile", false, R"({"profile": "switch", "name": "s", "colour": 1})"},
    {"switch_profile", false, R"({"profile": "switch", "name": "s", "core_clock": "400"})"},
    {"switch_profile", false, R"({"profile": "switch", "name": "s", "core_clock": 400})"},
    {"switch_profile", false, R"({"profile": "switch", "name": "s", "core_clock": {"source": "x"}})"},
    {"switch_profile", false,
     R"({"profile": "switch", "name": "s", "core_clock": {"value": "1 MHz", "unit": "x"}})"},
    {"switch_profile", false, R"({"profile": "switch", "name": "s", "virtual_lanes": 0})"},
    {"switch_profile", false, R"({"profile": "switch", "name": "s", "virtual_lanes": 16})"},
    {"switch_profile", false, R"({"profile": "switch", "name": "s", "virtual_lanes": 1.5})"},
    {"switch_profile", false, R"([])"},
    {"hca_profile", true,
     R"({"profile": "hca", "name": "h", "pcie": {"lanes": 8}, "doorbell": {"source": "x"}})"},
    {"hca_profile", false, R"({"profile": "hca", "name": "h", "pcie": {"lanes": 7}})"},
    {"hca_profile", false, R"({"profile": "hca", "name": "h", "pcie": []})"},
    {"hca_profile", false, R"({"profile": "hca", "name": "h", "doorbell": {"latency_cycles": -1}})"},
    {"hca_profile", true, R"({"profile": "hca", "name": "h", "receive_buffer": "64 KiB"})"},
    {"hca_profile", false, R"({"profile": "hca", "name": "h", "receive_buffer": "64 kB"})"},
    {"switch_profile", true,
     R"({"profile": "switch", "name": "s", "arbitration": {"high_limit": 1, "low": [{"lane": 0, "weight": 4}]}})"},
    {"switch_profile", false, R"({"profile": "switch", "name": "s", "arbitration": {"low": [{"lane": 0}]}})"},
    {"hca_profile", false,
     R"({"profile": "hca", "name": "h", "arbitration": {"high": [{"lane": 15, "weight": 4}]}})"},
    {"cpu_profile", false, R"({"profile": "cpu", "name": "c", "call_costs": {}})"},
    {"topology", true, R"({"name": "t", "hosts": [{"name": "a"}], "links": []})"},
    {"topology", true,
     R"({"name": "t", "hosts": [], "links": [{"a": "x", "b": "y", "rate": "100 Gbps", "length": "3 cm"}]})"},
    {"topology", true, R"({"name": "t", "hosts": [], "links": [{"a": "x", "b": "y", "rate": "hdr 2x"}]})"},
    {"topology", false, R"({"name": "t", "hosts": [], "links": [{"a": "x", "b": "y", "rate": "EDR 3x"}]})"},
    {"topology", false, R"({"name": "t", "hosts": [], "links": [{"a": "x", "b": "y", "rate": "EDR4x"}]})"},
    {"topology", false, R"({"name": "t", "hosts": [], "links": [{"a": "x", "b": "y"}]})"},
    {"topology", false, R"({"name": "t", "hosts": {}, "links": []})"},
    {"topology", true, R"({"name": "t", "links": []})"},
    {"topology", true, R"({"name": "t", "generate": {"shape": "star", "hosts": 3, "rate": "EDR"}})"},
    {"topology", false, R"({"name": "t", "generate": {"shape": "ring", "hosts": 3, "rate": "EDR"}})"},
    {"topology", false, R"({"name": "t", "generate": {"shape": "star", "hosts": 0, "rate": "EDR"}})"},
    {"topology", false, R"({"name": "t", "generate": {"shape": "star", "rate": "EDR"}})"},
    {"topology", false, R"({"name": "a b", "hosts": [], "links": []})"},
    {"topology", true, R"({"name": "t", "link_layer": "roce", "hosts": [], "links": []})"},
    {"topology", false, R"({"name": "t", "link_layer": "ethernet", "hosts": [], "links": []})"},
    {"topology", true, R"({"name": "t", "hosts": [{"name": "a", "address": "10.0.0.1"}], "links": []})"},
    {"topology", false, R"({"name": "t", "hosts": [{"name": "a", "address": "10.0.0.256"}], "links": []})"},
    {"topology", false, R"({"name": "t", "hosts": [{"name": "a", "address": "10.0.0.01"}], "links": []})"},
    {"topology", false, R"({"name": "t", "hosts": [{"name": "a", "hca": ""}], "links": []})"},
    {"topology", false, R"({"name": {"value": "t"}, "hosts": [], "links": []})"},
    {"scenario", true, R"({"topology": "t", "programs": [{"host": "a", "command": "x y"}]})"},
    {"scenario", true,
     R"({"topology": "t", "programs": [{"host": "a", "command": ["x", "y"], "expect_exit": "SIGSEGV"}]})"},
    {"scenario", true,
     R"({"topology": "t", "programs": [{"host": "a", "command": "x", "env": {"A": "b"}, "start": "1 µs"}]})"},
    {"scenario", false, R"({"topology": "t", "programs": [{"host": "a", "command": []}]})"},
    {"scenario", false, R"({"topology": "t", "programs": [{"host": "a", "command": ""}]})"},
    {"scenario", false, R"({"topology": "t", "programs": [{"host": "a", "command": ["x", 1]}]})"},
    {"scenario", false, R"({"topology": "t", "programs": [{"host": "a", "command": "x", "env": {"A": 1}}]})"},
    {"scenario", false,
     R"({"topology": "t", "programs": [{"host": "a", "command": "x", "expect_exit": 256}]})"},
    {"scenario", false,
     R"({"topology": "t", "programs": [{"host": "a", "command": "x", "expect_exit": -1}]})"},
    {"scenario", false, R"({"topology": "t", "programs": [{"host": "a", "command": "x", "start": 5}]})"},
    {"scenario", false, R"({"topology": "t", "programs": [], "seed": -1})"},
    {"scenario", false, R"({"topology": "t", "programs": [], "expect": {"digest": "0"}})"},
    {"scenario", false, R"({"topology": "t", "programs": [], "expect": {"outcome": "stuck"}})"},
};

TEST(Schema, accepts_and_refuses_what_the_checker_does) {
  for (const Case& c : kCases) {
    EXPECT_EQ(table_accepts(c.schema, c.text), c.good) << "checker, " << c.schema << ": " << c.text;
    EXPECT_EQ(schema_accepts(c.schema, c.text), c.good) << "schema, " << c.schema << ": " << c.text;
  }
}

// Leaving out any key, adding one, or turning a value into another type: both readings of the tables agree.
TEST(Schema, agrees_with_the_checker_on_mutations_of_the_shipped_files) {
  const std::pair<const char*, const char*> kFiles[] = {{"topology", "topologies/two_hosts.json"},
                                                        {"scenario", "scenarios/rc_pingpong.json"},
                                                        {"hca_profile", "topologies/profiles/edr_hca.json"},
                                                        {"cpu_profile", "topologies/profiles/cpu.json"}};
  for (const auto& [name, path] : kFiles) {
    Diagnostics diagnostics;
    const auto original = read_json(std::string(VERBATIM_SOURCE_DIR "/") + path, diagnostics);
    ASSERT_TRUE(original.has_value());
    const Json flat = original->flatten();
    for (const auto& [pointer, value] : flat.items()) {
      for (const Json& other :
           {Json(7), Json("x"), Json(true), Json::object(), Json::array(), Json("7 ns")}) {
        Json mutant = *original;
        mutant[Json::json_pointer(pointer)] = other;
        const std::string text = mutant.dump();
        EXPECT_EQ(schema_accepts(name, text), table_accepts(name, text))
            << path << " " << pointer << " = " << other;
      }
    }
  }
}

}  // namespace
}  // namespace verbatim::config
