// The built libraries compared to the distribution's: names, symbol versions, addresses, dependencies.
// Existing programs load with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace {

const std::string kBuilt = VERBATIM_LIBRARY_DIR;
const std::string kInstalled = "/lib/x86_64-linux-gnu";

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> buffer;
  while (std::size_t got = fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), got);
  pclose(pipe);
  return text;
}

std::string quoted(const std::string& path) { return "'" + path + "'"; }

// Library names instead of paths, because LD_PRELOAD separates its entries by spaces.
std::string preload(const std::string& names) {
  return "LD_LIBRARY_PATH=" + quoted(kBuilt) + " LD_PRELOAD=" + names + " ";
}

// "symbol@version" of every definition, without the version nodes themselves. `defaults_only`: those to which a program is
// linked; the others are for programs that were linked with an earlier library.
std::set<std::string> exports(const std::string& library, bool defaults_only = true) {
  std::set<std::string> found;
  std::istringstream lines(output_of("objdump -T " + quoted(library)));
  // address flags section size version name
  const std::regex form(R"(^[0-9a-f]+ \S+\s+D[FO]?\s+(\S+)\s+[0-9a-f]+\s+(\(?[A-Z][A-Z0-9_.]*)\)?\s+(\S+)$)");
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, form) || match[1] == "*UND*" || match[2] == match[3]) continue;
    const std::string version = match[2].str();
    // A version in parentheses is not the default.
    if (version.front() != '(') found.insert(match[3].str() + "@" + version);
    else if (!defaults_only) found.insert(match[3].str() + "@" + version.substr(1));
  }
  return found;
}

// Symbols of rdma-core 44 to 65 (rdma_core_symbols.txt).
std::set<std::string> symbols_of_rdma_core(const std::string& library) {
  std::set<std::string> found;
  std::ifstream lines(VERBATIM_SOURCE_DIR "/tests/abi/rdma_core_symbols.txt");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, node;
    words >> name >> node;
    if (name != library) continue;
    for (std::string symbol; words >> symbol;) found.insert(symbol + "@" + node);
  }
  return found;
}

class Library : public testing::TestWithParam<std::pair<const char*, std::size_t>> {
 protected:
  std::string built() const { return kBuilt + "/" + GetParam().first; }
  std::string installed() const { return kInstalled + "/" + GetParam().first; }
};

TEST_P(Library, exports_what_every_rdma_core_exports) {
  const std::set<std::string> ours = exports(built(), false), theirs = symbols_of_rdma_core(GetParam().first);
  EXPECT_EQ(theirs.size(), GetParam().second);
  EXPECT_THAT(ours, testing::IsSupersetOf(theirs));
}

// A program that is linked with the simulator's library gets versions that rdma-core has.
TEST_P(Library, has_no_default_version_that_rdma_core_lacks) {
  EXPECT_THAT(exports(built()), testing::IsSubsetOf(symbols_of_rdma_core(GetParam().first)));
}

TEST_P(Library, exports_what_the_distribution_s_exports) {
  if (!std::filesystem::exists(installed())) GTEST_SKIP() << "rdma-core is not installed";
  EXPECT_THAT(exports(built(), false), testing::IsSupersetOf(exports(installed())));
}

TEST_P(Library, needs_only_libc_and_the_runtime) {
  const std::string dynamic = output_of("objdump -p " + quoted(built()));
  std::set<std::string> needed;
  const std::regex form(R"(NEEDED\s+(\S+))");
  for (std::sregex_iterator at(dynamic.begin(), dynamic.end(), form), end; at != end; ++at)
    needed.insert((*at)[1]);
  EXPECT_THAT(needed, testing::IsSubsetOf({"libc.so.6", "libverbatim_runtime.so"}));
  EXPECT_THAT(dynamic, testing::ContainsRegex(std::string("SONAME +") + GetParam().first));
}

TEST_P(Library, runs_no_code_when_loaded) {
  // One entry, frame_dummy of crtbegin.o, which every library has.
  EXPECT_THAT(output_of("objdump -h " + quoted(built())), testing::ContainsRegex("\\.init_array +00000008"));
}

TEST_P(Library, is_mapped_at_its_image_base) {
  const std::map<std::string, std::string> bases = {
      {"libibverbs.so.1", "4002000c0000"}, {"libmlx5.so.1", "400200100000"}};
  const std::string& base = bases.at(GetParam().first);
  const std::string maps = output_of(preload(GetParam().first) + "cat /proc/self/maps");
  EXPECT_THAT(maps, testing::ContainsRegex(base + "-[0-9a-f]+ r-xp 00000000 .*" + GetParam().first));
}

INSTANTIATE_TEST_SUITE_P(Built, Library,
                         testing::Values(std::pair<const char*, std::size_t>{"libibverbs.so.1", 493},
                                         std::pair<const char*, std::size_t>{"libmlx5.so.1", 143}));

// Calls into libc are limited because on_poke() could mistake a runtime thread in libc for one that executes
// its program.
TEST(runtime, calls_no_more_of_libc_than_it_must) {
  std::set<std::string> imported;
  std::istringstream lines(output_of("nm -D --undefined-only " + quoted(kBuilt + "/libverbatim_runtime.so")));
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" U ") != std::string::npos) imported.insert(line.substr(line.find(" U ") + 3));
  }
  // read(2) is a cancellation point; free() and realloc() of the program are forwarded (heap_watch.cc). The
  // other functions are not called during an exchange with the supervisor.
  EXPECT_THAT(imported, testing::UnorderedElementsAre("__errno_location@GLIBC_2.2.5", "read@GLIBC_2.2.5", "syscall@GLIBC_2.2.5",
                                                      "__libc_free@GLIBC_2.2.5", "dlsym@GLIBC_2.34",
                                                      "malloc_usable_size@GLIBC_2.2.5"));
}

// Binds all symbols at start, including those of vendor libraries that Debian's tools load.
TEST(program, real_tools_load_and_say_there_is_no_device) {
  const std::string environment = "LD_BIND_NOW=1 " + preload("libibverbs.so.1:libmlx5.so.1");
  struct Tool {
    const char* command;
    const char* answer;
  };
  for (const Tool& tool :
       {Tool{"ib_write_bw --help", "Usage:"}, Tool{"ib_send_lat --help", "Usage:"},
        Tool{"ibv_devices", "Function not implemented"}, Tool{"ibv_rc_pingpong", "Function not implemented"},
        Tool{"rping -s", "No RDMA devices were detected"},
        Tool{"ucmatose", "No RDMA devices were detected"}}) {
    const std::string name = std::string(tool.command).substr(0, std::string(tool.command).find(' '));
    if (!std::filesystem::exists("/usr/bin/" + name)) continue;
    EXPECT_THAT(output_of(environment + "timeout 20 " + tool.command), testing::HasSubstr(tool.answer))
        << tool.command;
  }
}

}  // namespace
