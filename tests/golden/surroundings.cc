#include "tests/golden/surroundings.h"

#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/command.h"

namespace verbatim::golden {

namespace fs = std::filesystem;

namespace {

// The first line of a failed command's output.
std::string first_line(const cli::Finished& finished) {
  const std::string& text = finished.err.empty() ? finished.out : finished.err;
  return text.empty() ? "exit code " + std::to_string(finished.code) : text.substr(0, text.find('\n'));
}

}  // namespace

std::vector<std::string> on_one_processor() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  int last = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) last = core;
  }
  return {"taskset", "-c", std::to_string(last)};
}

std::vector<std::string> in_namespaces(std::string* reason) {
  const std::vector<std::string> wrapper = {"unshare", "--user", "--map-root-user", "--mount",
                                            "--pid",   "--fork", "--mount-proc"};
  std::vector<std::string> probe = wrapper;
  probe.push_back("true");
  const cli::Finished finished = cli::run_command(probe);
  if (finished.code == 0) return wrapper;
  *reason = "this machine does not permit user, mount and process namespaces: " + first_line(finished);
  return {};
}

std::vector<std::string> with_an_extra_package(const std::string& folder, std::string* reason) {
  std::vector<std::string> wrapper = in_namespaces(reason);
  if (wrapper.empty()) return {};
  std::string script;
  for (const std::string of : {"/usr/lib/python3/dist-packages", "/usr/lib/python3.11", "/usr/lib/python3.11/lib-dynload"}) {
    const std::string added = folder + "/" + std::to_string(script.size());
    fs::create_directories(added + "/an_extra_package");
    std::ofstream(added + "/an_extra_package/__init__.py") << "NAME = 'extra'\n";
    std::ofstream(added + "/an_extra_module.py") << "NAME = 'extra'\n";
    std::ofstream(added + "/an_extra_package.pth") << "import sys\n";  // executed by `site` at every start
    script += "mount -t overlay overlay -o lowerdir=" + added + ":" + of + " " + of + " && ";
  }
  wrapper.insert(wrapper.end(), {"sh", "-c", script + "exec \"$@\"", "sh"});
  std::vector<std::string> probe = wrapper;
  probe.insert(probe.end(), {"test", "-f", "/usr/lib/python3.11/lib-dynload/an_extra_module.py"});
  const cli::Finished finished = cli::run_command(probe);
  if (finished.code == 0) return wrapper;
  *reason = "this machine permits no layers over folders: " + first_line(finished);
  return {};
}

Unprivileged::Unprivileged() {
  if (geteuid() != 0) {
    reason_ = "the tests are run by a user without privileges already";
    return;
  }
  const std::string& folder = folder_.path();
  const cli::Finished installed =
      cli::run_command({"cmake", "--install", VERBATIM_BINARY_DIR, "--prefix", folder + "/installed"});
  std::error_code error;
  fs::copy(optimised_programs(), folder + "/programs", error);
  fs::copy(scripts(), folder + "/scripts", error);
  const cli::Finished readable = cli::run_command({"chmod", "-R", "a+rX", folder});
  if (installed.code != 0 || error || readable.code != 0) {
    reason_ = "the copy for another user could not be made: " + first_line(installed) + error.message();
    return;
  }
  setting_.request.wrapper = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  setting_.request.program = folder + "/installed/bin/verbatim";
  setting_.request.topology = folder + "/installed/share/verbatim/topologies/two_hosts.json";
  setting_.request.working_directory = "/";
  setting_.programs = folder + "/programs";
  setting_.scripts = folder + "/scripts";
}

std::vector<std::string> facilities(std::string* reason) {
  const cli::Finished listed =
      cli::run_command({support::verbatim_program(), "check", "--host", "--list-facilities"});
  std::vector<std::string> names;
  std::istringstream lines(listed.out);
  for (std::string name; listed.code == 0 && std::getline(lines, name);) {
    if (!name.empty()) names.push_back(name);
  }
  if (names.empty()) *reason = "verbatim check --host --list-facilities names none: " + first_line(listed);
  return names;
}

}  // namespace verbatim::golden
