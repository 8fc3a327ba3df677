#include "tools/verbatim/shares/slurm.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <sstream>

#include "sim/config/words.h"
#include "sim/core/input_file.h"
#include "sim/core/words.h"
#include "sim/supervisor/machine/waiting.h"
#include "tools/verbatim/output_file.h"
#include "tools/verbatim/run_plan.h"
#include "tools/verbatim/worker_pool.h"

namespace verbatim::cli {

namespace {

struct SlurmAnswer {
  bool has_ended_well = false;
  std::string output, errors;
};

// Runs one of Slurm's commands to its end.
SlurmAnswer ask_slurm(std::vector<std::string> words) {
  const int output = ::memfd_create("verbatim-slurm", MFD_CLOEXEC),
            errors = ::memfd_create("verbatim-slurm", MFD_CLOEXEC);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = start_child(ChildOutput::kInherited, -1, [&] {
    ::dup2(output, 1);
    ::dup2(errors, 2);
    ::execvp(argv[0], argv.data());
    return 127;
  });
  SlurmAnswer answer;
  if (child > 0) {
    const int status = supervisor::await_child(child).status;
    answer.has_ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
      answer.errors = words.front() + " is not installed here";
  }
  answer.output = content_of(output);
  if (answer.errors.empty()) answer.errors = content_of(errors);
  ::close(output);
  ::close(errors);
  return answer;
}

// "0-3,7" of {0, 1, 2, 3, 7}.
std::string ranges_of(const std::vector<std::int64_t>& shares) {
  std::string text;
  for (std::size_t i = 0; i < shares.size();) {
    std::size_t last = i;
    while (last + 1 < shares.size() && shares[last + 1] == shares[last] + 1) ++last;
    text += join(text.empty() ? "" : ",", shares[i]);
    if (last > i) text += join("-", shares[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace

std::string submit(const Split& split, const std::vector<std::int64_t>& shares, const std::string& options,
                   std::string* job) {
  std::string problem;
  const auto extra = config::split_words(options, &problem);
  if (!extra) return "--slurm: " + config::in_quotes(options) + " " + problem;
  std::error_code error;
  std::filesystem::create_directories(split.folder + "/logs", error);
  std::vector<std::string> words = {"sbatch",
                                    "--parsable",
                                    "--array=" + ranges_of(shares),
                                    "--job-name=verbatim-" + split.words.front(),
                                    "--output=" + split.folder + "/logs/share-%a.txt",
                                    "--open-mode=append",
                                    "--chdir=" + split.working_directory};
  words.insert(words.end(), extra->begin(), extra->end());
  words.push_back(split.folder + "/job.sh");
  const SlurmAnswer answer = ask_slurm(words);
  if (!answer.has_ended_well) {
    const std::string why = answer.errors.substr(0, answer.errors.find('\n'));
    return "no job was submitted: " + (why.empty() ? "sbatch failed" : why);
  }
  *job = answer.output.substr(0, answer.output.find_first_of(";\n"));
  OutputStream jobs;
  std::string failure = jobs.open(split.folder + "/jobs", OutputStream::From::kEnd);
  if (failure.empty()) {
    std::fprintf(jobs.get(), "%s\n", job->c_str());
    failure = jobs.close();
  }
  return failure;
}

std::set<std::int64_t> shares_under_way(const Split& split) {
  std::string jobs;
  InputFile noted(split.folder + "/jobs");
  while (const auto line = noted.line()) {
    if (!line->empty() && line->find_first_not_of("0123456789") == line->npos)
      jobs += (jobs.empty() ? "" : ",") + std::string(*line);
  }
  std::set<std::int64_t> shares;
  if (jobs.empty()) return shares;
  // A job that ended long ago is unknown to squeue, which then fails if it is the only one.
  const SlurmAnswer answer = ask_slurm({"squeue", "--noheader", "--array", "--format=%K", "--jobs=" + jobs});
  std::istringstream numbers(answer.output);
  for (std::int64_t share = 0; numbers >> share;) shares.insert(share);
  return shares;
}

}  // namespace verbatim::cli
