#include "tools/verbatim/shares/result_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>

#include "sim/config/json_text.h"
#include "sim/core/input_file.h"
#include "sim/core/words.h"
#include "tools/verbatim/whole_number.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;
using ResultJson = nlohmann::ordered_json;

constexpr std::int64_t kMostTime = std::int64_t{1} << 40;  // seconds

// "share-3.1.jsonl" is {3, 1}.
std::optional<std::pair<std::int64_t, std::int64_t>> numbers_of(const std::string& name) {
  long long share = 0, attempt = 0;
  int length = 0;
  if (std::sscanf(name.c_str(), "share-%lld.%lld.jsonl%n", &share, &attempt, &length) != 2)
    return std::nullopt;
  if (static_cast<std::size_t>(length) != name.size() || share < 0 || attempt < 1) return std::nullopt;
  return std::pair<std::int64_t, std::int64_t>(share, attempt);
}

std::string this_machine() {
  if (const char* const node = std::getenv("SLURMD_NODENAME"); node != nullptr && *node != '\0') return node;
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::int64_t now_s() { return static_cast<std::int64_t>(::time(nullptr)); }

void read_lines(const Split& split, ResultFile& file) {
  const std::string path = split.folder + "/" + file.name;
  struct stat status {};
  const bool has_size = ::stat(path.c_str(), &status) == 0;
  std::int64_t size = 0, number = 0;
  InputFile input(path);
  const auto remark = [&](const std::string& text) {
    file.remarks.push_back(file.name + (file.machine.empty() ? "" : " of machine " + file.machine) + ": " +
                           text);
  };
  while (const auto line = input.line()) {
    ++number;
    size += static_cast<std::int64_t>(line->size()) + 1;
    if (has_size && size > status.st_size) break;  // cut off: no newline
    config::Diagnostics diagnostics;
    const auto json = config::parse_json(*line, path, diagnostics);
    try {
      if (!json || !json->is_object()) throw std::out_of_range("it is not a JSON object");
      if (number == 1) {
        file.share = whole_number<std::int64_t>(json->at("share"), 0, Split::kMostShares);
        json->at("machine").get_to(file.machine);
        file.begun_s = whole_number<std::int64_t>(json->at("begun"), 0, kMostTime);
        file.is_of_this_work = json->at("work").get<std::string>() == split.digest();
        if (!file.is_of_this_work) return remark("its results are of other work and are not counted");
      } else if (json->contains("stopped")) {
        remark(json->at("stopped").get<std::string>());
        file.has_stopped = true;
      } else {
        const auto unit = whole_number<std::int64_t>(
            json->at("unit"), 0, (split.units == 0 ? Split::kMostUnits : split.units) - 1);
        file.units[unit] = {json->at("result"), whole_number<std::int64_t>(json->at("ended"), 0, kMostTime)};
      }
    } catch (const std::exception& e) {
      remark(join("line ", number, " is damaged and is not counted: ", e.what()));
      if (number == 1) return;
    }
  }
  if (!input.problem().empty()) remark(input.problem());
}

}  // namespace

std::vector<ResultFile> read_result_files(const Split& split) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(split.folder + "/results", error)) {
    const std::string name = entry.path().filename().string();
    if (const auto numbers = numbers_of(name)) names[*numbers] = name;
  }
  std::vector<ResultFile> files;
  for (const auto& [numbers, name] : names) {
    ResultFile& file = files.emplace_back();
    file.name = "results/" + name;
    file.share = numbers.first;
    read_lines(split, file);
  }
  return files;
}

MergedResults merge(const Split& split, const std::vector<ResultFile>& files) {
  MergedResults merged;
  std::map<std::int64_t, const ResultFile*> sources;
  for (const ResultFile& file : files) {
    merged.remarks.insert(merged.remarks.end(), file.remarks.begin(), file.remarks.end());
    merged.attempts[file.share] = &file;
    if (!file.is_of_this_work) continue;
    for (const auto& [unit, result] : file.units) {
      const auto [it, is_new] = merged.units.emplace(unit, result);
      if (is_new)
        sources[unit] = &file;
      else if (it->second.result != result.result)
        merged.remarks.push_back(join("unit ", unit, " has two different results, in ", sources[unit]->name,
                                      " of machine ", sources[unit]->machine, " and in ", file.name,
                                      " of machine ", file.machine,
                                      ": its runs depend on the machine; the first counts"));
    }
  }
  for (std::int64_t unit = 0; unit < split.units; ++unit) {
    if (!merged.units.contains(unit)) merged.missing.push_back(unit);
  }
  return merged;
}

ResultWriter::~ResultWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string ResultWriter::open(const Split& split, std::int64_t share) {
  for (int attempt = 1; descriptor_ < 0; ++attempt) {
    path_ = join(split.folder, "/results/share-", share, ".", attempt, ".jsonl");
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) return path_ + ": " + std::strerror(errno);
  }
  return write_line(
      {{"share", share}, {"machine", this_machine()}, {"begun", now_s()}, {"work", split.digest()}});
}

std::string ResultWriter::write(std::int64_t unit, const nlohmann::ordered_json& result) {
  return write_line({{"unit", unit}, {"ended", now_s()}, {"result", result}});
}

std::string ResultWriter::stop(const std::string& reason) { return write_line({{"stopped", reason}}); }

std::string ResultWriter::write_line(const nlohmann::ordered_json& line) {
  const std::string text = line.dump(-1, ' ', false, ResultJson::error_handler_t::replace) + "\n";
  if (text.size() > InputFile::kMostLine) return path_ + ": a result has more than 1 MiB";
  struct stat before {};
  int error = ::fstat(descriptor_, &before) == 0 ? 0 : errno;
  for (std::size_t at = 0; error == 0 && at < text.size();) {
    const ssize_t n = ::write(descriptor_, text.data() + at, text.size() - at);
    if (n > 0)
      at += static_cast<std::size_t>(n);
    else if (n == 0 || errno != EINTR)
      error = n == 0 ? ENOSPC : errno;
  }
  if (error == 0 && ::fdatasync(descriptor_) != 0 && errno != EINVAL && errno != ENOSYS) error = errno;
  if (error == 0) return "";
  if (::ftruncate(descriptor_, before.st_size) != 0) {
    // The cut line has no newline, so that it does not count.
  }
  return path_ + ": " + std::strerror(error);
}

}  // namespace verbatim::cli
