// Commands that cannot be simulated: exit code 2, a sentence with the reason, and no program is started.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/command.h"
#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::RunReport;
using ::testing::HasSubstr;

class Refusal : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content, mode_t mode = 0755) {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    ::chmod(path.c_str(), mode);
    return path;
  }

  void expect_refused(const std::string& command, const std::string& sentence) {
    const std::string mark = folder_.path() + "/mark";
    const RunReport run = support::run({.commands = {"client=touch " + mark, "server=" + command}});
    EXPECT_EQ(run.code, 2) << run.story();
    EXPECT_THAT(run.err, HasSubstr(sentence));
    EXPECT_THAT(run.err, HasSubstr("nothing was started"));
    EXPECT_FALSE(std::filesystem::exists(mark)) << command;
    EXPECT_TRUE(run.report.is_null()) << "a run that never was has no results";
  }

  support::TemporaryFolder folder_;
};

TEST_F(Refusal, no_such_program) {
  expect_refused("no-such-program", "there is no program \"no-such-program\" in /usr/local/sbin:");
  expect_refused("/no/such/program", "/no/such/program: No such file or directory");
}

TEST_F(Refusal, not_executable_or_not_a_program) {
  expect_refused(file("data", "text\n", 0644), "/data is not executable");
  expect_refused(file("text", "text\n"), "/text is neither a program nor a script");
  expect_refused(file("empty", ""), "/empty is neither a program nor a script");
  expect_refused(folder_.path(), "is not a file");
}

// No user except root can read it.
TEST_F(Refusal, a_program_that_may_be_executed_but_not_read) {
  const std::string path = folder_.path() + "/program";
  std::filesystem::copy_file("/bin/true", path);
  ::chmod(path.c_str(), 0111);
  ::chmod(folder_.path().c_str(), 0755);
  support::RunRequest request;
  request.commands = {"server=" + path};
  if (::geteuid() == 0) {
    const support::RunReport reads = support::run(request);
    EXPECT_EQ(reads.code, 0) << reads.story();
    request.wrapper = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
    request.working_directory = "/";
    if (cli::run_command({"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", support::verbatim_program(),
                          "check", support::topology("two_hosts")})
            .code != 0) {
      GTEST_SKIP() << "another user cannot execute the simulator here";
    }
  }
  const support::RunReport run = support::run(request);
  EXPECT_EQ(run.code, 2) << run.story();
  EXPECT_THAT(run.err, HasSubstr(path + " may be executed but not read"));
  EXPECT_THAT(run.err, HasSubstr("nothing was started"));
}

TEST_F(Refusal, a_static_program) {
  const std::string source = file("program.c", "int main(void) { return 0; }\n");
  const std::string path = folder_.path() + "/static";
  const auto compiled = cli::run_command({"gcc", "-static", "-o", path, source});
  if (compiled.code != 0) GTEST_SKIP() << "static programs cannot be linked here: " << compiled.err;
  expect_refused(path, path + " is statically linked");
}

// The program itself needs the version, or a library of it does. The loader would end the program.
TEST_F(Refusal, a_symbol_version_that_the_verbs_library_lacks) {
  file("verbs.c", "int ibv_of_tomorrow(void) { return 0; }\n");
  file("verbs.map", "IBVERBS_1.0 {};\nIBVERBS_9.9 { global: ibv_of_tomorrow; local: *; };\n");
  file("inner.c", "int ibv_of_tomorrow(void);\nint inner(void) { return ibv_of_tomorrow(); }\n");
  file("outer.c", "int inner(void);\nint main(void) { return inner(); }\n");
  file("direct.c", "int ibv_of_tomorrow(void);\nint main(void) { return ibv_of_tomorrow(); }\n");
  const std::string folder = folder_.path();
  const auto compile = [&](const std::string& arguments) {
    const auto compiled = cli::run_command({"sh", "-c", "cd '" + folder + "' && gcc " + arguments});
    ASSERT_EQ(compiled.code, 0) << compiled.err;
  };
  compile("-shared -fPIC -o libibverbs.so.1 verbs.c -Wl,-soname,libibverbs.so.1 -Wl,--version-script=verbs.map");
  compile("-shared -fPIC -o libinner.so inner.c ./libibverbs.so.1 -Wl,-soname,libinner.so");
  compile("-o direct direct.c ./libibverbs.so.1");
  compile("-o outer outer.c ./libinner.so -Wl,--allow-shlib-undefined -Wl,-rpath,'$ORIGIN'");
  expect_refused(folder + "/direct", folder + "/direct needs IBVERBS_9.9 of libibverbs.so.1");
  expect_refused(folder + "/outer", folder + "/libinner.so needs IBVERBS_9.9 of libibverbs.so.1");
}

TEST_F(Refusal, another_architecture) {
  // The beginning of `true` with another e_machine (byte 18): AArch64, then 32-bit x86.
  std::string image = support::text_of_file("/bin/true");
  ASSERT_GT(image.size(), 64u);
  image[18] = '\xb7';
  expect_refused(file("arm", image), "/arm is built for another architecture");
  image = support::text_of_file("/bin/true");
  image[4] = 1;  // ELFCLASS32
  image[18] = 3;
  expect_refused(file("small", image), "/small is built for another architecture");
}

TEST_F(Refusal, another_c_library) {
  std::string image = support::text_of_file("/bin/true");
  const std::string loader = "/lib64/ld-linux-x86-64.so.2";
  const std::size_t at = image.find(loader);
  ASSERT_NE(at, std::string::npos);
  image.replace(at, loader.size(), std::string("/lib/ld-musl-x86_64.so.1\0\0\0", loader.size()));
  expect_refused(file("musl", image), "uses the loader /lib/ld-musl-x86_64.so.1");
}

TEST_F(Refusal, a_script_whose_interpreter_cannot_be_simulated) {
  expect_refused(file("lost.sh", "#!/no/such/shell\n"), "/no/such/shell");
  expect_refused(file("loop.sh", "#!" + folder_.path() + "/loop.sh\n"), "too many interpreters");
}

TEST_F(Refusal, a_truncated_program) {
  const std::string image = support::text_of_file("/bin/true");
  expect_refused(file("short", image.substr(0, 40)), "/short is not a program");
}

TEST_F(Refusal, a_script_is_no_refusal) {
  const std::string path = file("hello.sh", "#!/bin/sh\necho hello from $0\n");
  const RunReport run = support::run({.commands = {"server=" + path}});
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"), "hello from " + path + "\n");
}

// A set-user-id program runs with the rights of the simulation's user, and a warning says so.
TEST_F(Refusal, a_setuid_program_runs_without_its_privilege_and_says_so) {
  const std::string path = file("setuid", support::text_of_file("/usr/bin/id"), 04755);
  struct stat status;
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  ASSERT_NE(status.st_mode & S_ISUID, 0u);
  const RunReport run = support::run({.commands = {"server=" + path + " -u"}});
  EXPECT_EQ(run.code, 0) << run.story();
  ASSERT_EQ(run.report["warnings"].size(), 1u) << run.report["warnings"];
  EXPECT_THAT(run.report["warnings"][0].get<std::string>(), HasSubstr("set-user-id"));
}

}  // namespace
}  // namespace verbatim
