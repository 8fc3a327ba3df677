// Reading and merging the results of shares, also damaged ones.
#include "tools/verbatim/shares/result_files.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/support/verbatim_run.h"
#include "tools/verbatim/campaign/schedule_totals.h"

namespace verbatim::cli {
namespace {

using support::text_of_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ResultFiles : public ::testing::Test {
 protected:
  ResultFiles() : split_(split_of(folder_.path() + "/s", {"explore", "--runs", "300"}, 3, 2, {})) {
    EXPECT_EQ(write_split(split_), "");
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(split_.folder + "/results/" + name) << text;
  }
  std::string header(int share, const std::string& machine) const {
    return R"({"share":)" + std::to_string(share) + R"(,"machine":")" + machine + R"(","begun":5,"work":")" +
           split_.digest() + "\"}\n";
  }
  static std::string unit(int number, const std::string& result) {
    return R"({"unit":)" + std::to_string(number) + R"(,"ended":7,"result":)" + result + "}\n";
  }
  MergedResults merged() {
    files_ = read_result_files(split_);
    return merge(split_, files_);
  }

  support::TemporaryFolder folder_;
  const Split split_;
  std::vector<ResultFile> files_;
};

TEST_F(ResultFiles, what_is_written_is_read) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    ResultWriter writer;
    ASSERT_EQ(writer.open(split_, 1), "");
    EXPECT_EQ(writer.write(1, {{"x", attempt == 0 ? "a\n\xff" : "b"}}), "");
    EXPECT_EQ(writer.stop("no more memory"), "");
  }
  const MergedResults results = merged();
  ASSERT_EQ(files_.size(), 2u);
  EXPECT_EQ(files_[1].name, "results/share-1.2.jsonl");
  EXPECT_THAT(results.missing, ElementsAre(0, 2));
  EXPECT_EQ(results.units.at(1).result["x"], "a\n\xef\xbf\xbd");
  ASSERT_EQ(results.remarks.size(), 3u);
  EXPECT_THAT(results.remarks[0], HasSubstr(": no more memory"));
  EXPECT_THAT(results.remarks[2],
              HasSubstr("unit 1 has two different results, in results/share-1.1.jsonl of machine "));
  ResultWriter writer;
  ASSERT_EQ(writer.open(split_, 0), "");
  EXPECT_THAT(writer.write(0, std::string(std::size_t{1} << 20, 'x')), HasSubstr("more than 1 MiB"));
}

TEST_F(ResultFiles, equal_results_of_two_attempts_count_once) {
  write("share-0.1.jsonl", header(0, "a") + unit(0, "{}"));
  write("share-0.2.jsonl", header(0, "b") + unit(0, "{}") + unit(2, "{}"));
  const MergedResults results = merged();
  EXPECT_THAT(results.missing, ElementsAre(1));
  EXPECT_THAT(results.remarks, IsEmpty());
}

TEST_F(ResultFiles, a_last_line_without_its_newline_does_not_count) {
  std::string text = header(0, "a") + unit(0, "{}") + unit(2, "{}");
  text.pop_back();
  write("share-0.1.jsonl", text);
  EXPECT_THAT(merged().missing, ElementsAre(1, 2));
  write("share-0.1.jsonl", "");
  EXPECT_THAT(merged().missing, ElementsAre(0, 1, 2));
}

TEST_F(ResultFiles, damaged_lines_are_named_and_the_others_count) {
  const std::pair<std::string, std::string> lines[] = {
      {"nonsense\n", "line 2"},
      {unit(99, "{}"), "99 is not a whole number from 0 to 2"},
      {R"({"unit":1,"ended":"x","result":{}})"
       "\n",
       "line 2"},
      {R"({"ended":1,"result":{}})"
       "\n",
       "line 2"},
      {std::string(3, '\0') + "\n", "line 2"},
      {std::string(100'000, '[') + "\n", "line 2"},
  };
  for (const auto& [line, text] : lines) {
    write("share-0.1.jsonl", header(0, "node7") + line + unit(2, "{}"));
    const MergedResults results = merged();
    EXPECT_THAT(results.missing, ElementsAre(0, 1));
    ASSERT_EQ(results.remarks.size(), 1u) << line.substr(0, 50);
    EXPECT_THAT(results.remarks[0],
                HasSubstr("results/share-0.1.jsonl of machine node7: line 2 is damaged and is not counted"));
    EXPECT_THAT(results.remarks[0], HasSubstr(text));
  }
  write("share-0.1.jsonl", header(0, "a") + std::string(std::size_t{2} << 20, 'x') + "\n");
  EXPECT_EQ(merged().remarks.size(), 1u);
}

TEST_F(ResultFiles, results_of_other_work_do_not_count) {
  write("share-0.1.jsonl", R"({"share":0,"machine":"a","begun":5,"work":"0123"})"
                           "\n" +
                               unit(0, "{}"));
  write("other.jsonl", header(0, "a") + unit(1, "{}"));
  const MergedResults results = merged();
  EXPECT_EQ(results.missing.size(), 3u);
  EXPECT_THAT(results.remarks,
              ElementsAre(HasSubstr("of machine a: its results are of other work and are not counted")));
}

TEST_F(ResultFiles, damaged_results_of_schedules_are_named_and_their_units_missing) {
  const std::string sound =
      R"({"runs":100,"failed":0,"digest":"00","outcomes":"0123456789ab","sites":{"a":[3,1]},"windows":[1,0,0,0,0],"kinds":[]})";
  write("share-0.1.jsonl", header(0, "a") + unit(0, sound) + unit(2, R"({"runs":1e9})"));
  MergedResults results = merged();
  EXPECT_EQ(totals_of(results).runs(), 100);
  EXPECT_THAT(results.missing, ElementsAre(1, 2));
  ASSERT_EQ(results.remarks.size(), 1u);
  EXPECT_THAT(results.remarks[0], HasSubstr("unit 2 is damaged"));
  for (const auto& [from, to] :
       {std::pair("\"failed\":0", "\"failed\":101"), std::pair("0123456789ab", "0123456789a"),
        std::pair("[3,1]", "[3]"), std::pair("\"kinds\":[]", "\"kinds\":[{}]"),
        std::pair("\"kinds\":[]", "\"kinds\":7")}) {
    std::string damaged = sound;
    damaged.replace(damaged.find(from), std::string(from).size(), to);
    write("share-0.1.jsonl", header(0, "a") + unit(0, damaged));
    MergedResults some = merged();
    EXPECT_EQ(totals_of(some).runs(), 0) << damaged;
    EXPECT_EQ(some.missing.size(), 3u);
  }
}

}  // namespace
}  // namespace verbatim::cli
