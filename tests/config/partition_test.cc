// Partitions of a topology: P_Key tables, and findings for invalid lists.
#include <gtest/gtest.h>

#include "sim/config/cabling.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

using Table = std::vector<std::uint16_t>;

std::string with(const std::string& partitions, const std::string& more = "") {
  return R"({"name": "t", "hosts": [{"name": "a"}, {"name": "b"}, {"name": "c"}], "switches": [{"name": "s"}],
      "links": [{"a": "a", "b": "s:1", "rate": "EDR"}, {"a": "b", "b": "s:2", "rate": "EDR"},
                {"a": "c", "b": "s:3", "rate": "EDR"}], "partitions": [)" +
         partitions + "]" + more + "}";
}

std::vector<Table> tables(const std::string& partitions) {
  Folder folder;
  Diagnostics diagnostics;
  const auto spec = load_topology(folder.write("t.json", with(partitions)), with_profiles(), diagnostics);
  EXPECT_TRUE(spec.has_value()) << text_of(diagnostics);
  return spec ? pkey_tables_of(*spec) : std::vector<Table>();
}

TEST(PartitionConfig, without_any_everybody_is_in_the_default_one) {
  EXPECT_EQ(tables(""), (std::vector<Table>{{0xffff}, {0xffff}, {0xffff}}));
}

TEST(PartitionConfig, tables_have_the_default_partition_first_and_the_others_by_number) {
  EXPECT_EQ(tables(R"({"name": "y", "number": 9, "full": ["c", "a"]},
                      {"name": "x", "number": 3, "full": ["a"], "limited": ["b"]})"),
            (std::vector<Table>{{0xffff, 0x8003, 0x8009}, {0xffff, 0x0003}, {0xffff, 0x8009}}));
}

TEST(PartitionConfig, a_written_default_partition_decides_and_a_star_is_everybody_else) {
  EXPECT_EQ(tables(R"({"name": "x", "number": 1, "full": ["*"]},
                      {"name": "default", "number": 32767, "full": ["b"], "limited": ["*"]})"),
            (std::vector<Table>{{0x7fff, 0x8001}, {0xffff, 0x8001}, {0x7fff, 0x8001}}));
  EXPECT_EQ(tables(R"({"name": "default", "number": 32767, "full": ["b"]})"),
            (std::vector<Table>{{}, {0xffff}, {}}));
}

TEST(PartitionConfig, what_is_wrong_is_told) {
  EXPECT_EQ(topology_findings(with(R"({"name": "x", "number": 1, "full": ["a", "elsewhere"]},
                             {"name": "y", "number": 1, "full": ["a"], "limited": ["a"]})")),
            "/partitions/0/full/1: there is no host \"elsewhere\"; name one of \"hosts\", or \"*\" for all\n"
            "/partitions/1/number: the number 1 is already that of /partitions/0; "
            "give every partition a number of its own\n"
            "/partitions/1/limited/0: \"a\" is named twice; a host is either a full or a limited member\n");
  EXPECT_NE(topology_findings(with(R"({"name": "x", "number": 0}, {"name": "y", "number": 32768})")), "");
  EXPECT_EQ(
      topology_findings(with(R"({"name": "x", "number": 1, "full": ["a"]})", R"(, "link_layer": "roce")")),
      "/partitions/0: there are no partitions on Ethernet; "
      "leave them out, or choose the link layer \"infiniband\"\n");
}

TEST(PartitionConfig, a_table_has_room_for_what_the_adapter_has_entries) {
  std::string many;
  for (int number = 1; number <= 128; ++number) {
    many += std::string(number > 1 ? "," : "") + R"({"name": "p", "number": )" + std::to_string(number) +
            R"(, "full": ["b"]})";
  }
  EXPECT_EQ(topology_findings(with(many)),
            "/partitions: \"b\" is in 129 partitions, the default one included; "
            "the table of its adapter has 128 entries\n");
}

}  // namespace
}  // namespace verbatim::config
