// A recording from an untrusted source: any entries are read without harm.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "sim/observe/recording.h"
#include "tests/cli/command.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::cli {
namespace {

// A recording of one process and one more entry, by `write`.
template <class Write>
Finished explain_recording(Write&& write) {
  const support::TemporaryFolder folder;
  const std::string path = folder.path() + "/odd";
  std::FILE* const file = std::fopen(path.c_str(), "we");
  {
    observe::RecordingWriter writer(file);
    writer.entry(writer.slot("host/server", "program-started", 1), 7, std::array<std::uint64_t, 1>{1000});
    write(writer);
    EXPECT_TRUE(writer.finish());
  }
  std::fclose(file);
  return verbatim({"explain", path});
}

TEST(RecordedRun, times_and_documents_that_no_run_writes_are_damage) {
  EXPECT_EQ(explain_recording([](auto& writer) { writer.file("run.json", "{}"); }).code, 0);
  const Finished document = explain_recording([](auto& writer) { writer.file("run.json", "["); });
  EXPECT_EQ(document.code, 2);
  EXPECT_NE(document.err.find("/odd is damaged: its run.json: line 1, column 2: "), std::string::npos) << document.err;
  const Finished time = explain_recording([](auto& writer) { writer.entry(writer.slot("host/server", "program-started", 1), -5, std::array<std::uint64_t, 1>{1}); });
  EXPECT_EQ(time.code, 2);
  EXPECT_NE(time.err.find("/odd is damaged: it has a time that is outside of virtual time"), std::string::npos) << time.err;
}

TEST(RecordedRun, entries_of_no_sense_do_no_harm) {
  const support::TemporaryFolder folder;
  const std::string path = folder.path() + "/odd";
  std::FILE* const file = std::fopen(path.c_str(), "we");
  {
    observe::RecordingWriter writer(file);
    const std::array<std::uint64_t, 4> values{~0ull, ~0ull, ~0ull, ~0ull};
    for (const char* component : {"", "x", "hca/", "host/", "hca/a", "host/a/b", "port/a", "port/:"}) {
      for (const char* kind : {"program-output", "placement", "wait", "level cq", "level ", "post-send", "arm", "completion",
                               "packet-transmitted", "packet-dropped", "fault", "qp-state", "ack-sent", "link-state", ""}) {
        for (const bool has_bytes : {false, true}) {
          const std::string name = std::string(component) + (has_bytes ? "" : "+");
          for (std::uint32_t count = 0; count <= 4; ++count) {
            writer.entry(writer.slot(name + std::to_string(count), kind, count, has_bytes), 5, values);
            writer.entry(writer.slot(component, kind, 4 - count, has_bytes), 7, values);
          }
        }
      }
    }
    writer.line(observe::RecordedLine::kFacts, "no line");
    writer.file("run.json", "{}");
    EXPECT_TRUE(writer.finish());
  }
  std::fclose(file);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"report", path, "-o", folder.path() + "/page", "--perfetto", folder.path() + "/trace"},
        {"ladder", path},
        {"explain", path}}) {
    const Finished read = verbatim(words);
    EXPECT_EQ(read.code, 0) << words[0] << ": " << read.err;
  }
}

}  // namespace
}  // namespace verbatim::cli
