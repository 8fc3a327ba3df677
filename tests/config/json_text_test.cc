#include "sim/config/json_text.h"

#include <gtest/gtest.h>

namespace verbatim::config {
namespace {

std::string finding(const std::string& text) {
  Diagnostics diagnostics;
  EXPECT_FALSE(parse_json(text, "f.json", diagnostics).has_value());
  EXPECT_FALSE(diagnostics.empty());
  return diagnostics.empty() ? "" : to_string(diagnostics.findings().front());
}

TEST(JsonText, syntax_errors_have_line_and_column) {
  EXPECT_EQ(finding("{\n  \"a\": 1,\n}").substr(0, 26), "f.json: line 3, column 1: ");
  EXPECT_EQ(finding("{\"a\" 1}").substr(0, 26), "f.json: line 1, column 6: ");
  EXPECT_EQ(finding("{\"ä\" 1}").substr(0, 26), "f.json: line 1, column 6: ") << "columns count characters";
  EXPECT_EQ(finding("").substr(0, 26), "f.json: line 1, column 1: ");
}

TEST(JsonText, common_slips_get_a_hint) {
  EXPECT_NE(finding("{\"a\": 1,}").find("remove the comma"), std::string::npos) << finding("{\"a\": 1,}");
  EXPECT_NE(finding("// x\n{}").find("JSON has no comments"), std::string::npos);
  EXPECT_NE(finding("{'a': 1}").find("double quotes"), std::string::npos);
  EXPECT_NE(finding("").find("the file is empty"), std::string::npos);
}

TEST(JsonText, repeated_keys_are_refused_with_their_place) {
  EXPECT_EQ(finding("{\"a\": [{\"b\": 1}, {\"b\": 1, \"b\": 2}]}"),
            "f.json: /a/1/b: the key \"b\" occurs more than once in this object; keep one of them");
  Diagnostics diagnostics;
  EXPECT_TRUE(parse_json("{\"a\": {\"b\": 1}, \"b\": {\"b\": 1}}", "f.json", diagnostics).has_value());
}

TEST(JsonText, pointers_escape_slash_and_tilde) {
  EXPECT_EQ(finding("{\"a/b~\": {\"x\": 1, \"x\": 1}}").substr(0, 19), "f.json: /a~1b~0/x: ");
}

TEST(JsonText, nothing_in_a_file_can_exhaust_the_stack) {
  EXPECT_NE(finding(std::string(1'000'000, '[')).find("nested more than 64 levels"), std::string::npos);
}

TEST(JsonText, bytes_after_the_document_are_refused) {
  EXPECT_EQ(finding(std::string("{}\0", 3)), "f.json: line 1, column 3: this is not valid JSON: a NUL byte follows the document");
  EXPECT_EQ(finding(std::string("{}\0{}", 5)).substr(0, 26), "f.json: line 1, column 3: ");
  EXPECT_EQ(finding("{}x").substr(0, 26), "f.json: line 1, column 3: ");
}

TEST(JsonText, broken_bytes_do_not_crash) {
  finding("{\"a\": \"\xff\xfe\"}");
  finding(std::string("{\"a\"\0: 1}", 9));
  finding("\xef\xbb");
  finding("{\"a\": 1e999}");
}

TEST(JsonText, unreadable_files_are_findings) {
  Diagnostics diagnostics;
  EXPECT_FALSE(read_json("no/such/file.json", diagnostics).has_value());
  EXPECT_EQ(to_string(diagnostics.findings().at(0)),
            "no/such/file.json: there is no such file; check the path");
  EXPECT_FALSE(read_json("/", diagnostics).has_value());
  EXPECT_EQ(to_string(diagnostics.findings().at(1)), "/: is a folder, not a file; name a file in it");
  EXPECT_FALSE(read_json("/dev/zero", diagnostics).has_value());
  EXPECT_EQ(to_string(diagnostics.findings().at(2)), "/dev/zero: is not a regular file; check the path");
}

}  // namespace
}  // namespace verbatim::config
