#include "tools/verbatim/run_inputs.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "sim/bundle/bundle_paths.h"
#include "sim/config/file_kind.h"
#include "sim/config/json_text.h"
#include "sim/config/words.h"
#include "tools/verbatim/compare/run_summary.h"

namespace verbatim::cli {

using bundle::Bundle;
using bundle::printable;
using supervisor::MachineLook;

namespace {

constexpr std::size_t kMostValueLetters = 60;  // characters of a value

std::string shortened_value(std::string text) {
  if (text.size() > kMostValueLetters) text = text.substr(0, kMostValueLetters) + "…";
  return printable(text);
}

std::string text_of_json_value(const nlohmann::json& value) {
  return shortened_value(value.is_string()
                             ? value.get<std::string>()
                             : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

// "SUBJECT is A here, B there"; an empty text is "missing". Names of several things end in s. Long texts are
// shown from the place where they differ.
std::string differing(const std::string& subject, const std::string& here, const std::string& there) {
  const auto first = static_cast<std::size_t>(std::ranges::mismatch(here, there).in1 - here.begin());
  constexpr std::size_t kMostBefore = 20;  // characters
  const std::size_t start = first > kMostBefore && std::max(here.size(), there.size()) > kMostValueLetters
                                ? first - kMostBefore / 2
                                : 0;
  const auto part = [&](const std::string& text) {
    return text.empty() ? "missing" : (start == 0 ? "" : "…") + shortened_value(text.substr(start));
  };
  return subject + (subject.ends_with('s') ? " are " : " is ") + part(here) + " here, " + part(there) +
         " there";
}

// The run of a bundle, if it has one, from its manifest. Throws the exceptions of the JSON library.
void take_manifest(RunInputs& inputs, const nlohmann::json& manifest) {
  if (!manifest.contains("run")) return;  // a root of files, or a submission
  const nlohmann::json& run = manifest.at("run");
  const auto add = [&](const char* name, const std::string& text) { inputs.values.emplace_back(name, text); };
  add("version", run.at("version").get<std::string>());
  if (run.contains("digest") && !run["digest"].get<std::string>().empty())
    inputs.digest = kept_digest_of(run);
  add("options", config::join_words(run.at("words").get<std::vector<std::string>>()));
  if (run.contains("arguments")) add("arguments", run["arguments"].dump());
  add("decisions", run.at("decisions").empty()
                       ? "none"
                       : run["decisions"].dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  add("PATH", run.value("search_path", ""));
  add("working folder", run.value("working_directory", ""));
  for (const auto& [path, text] : run.at("files").items()) {
    nlohmann::json content = nlohmann::json::parse(text.get<std::string>(), nullptr, false, true);
    if (content.is_discarded()) content = text;
    inputs.files.emplace(std::filesystem::path(path).filename().string(), std::move(content));
  }
}

// "has the value A here, B there", for the first place in which two documents differ.
std::string json_difference(const nlohmann::json& here, const nlohmann::json& there) {
  const nlohmann::json patch = nlohmann::json::diff(here, there);
  if (patch.empty()) return "";
  const std::string pointer = patch[0].at("path").get<std::string>();
  const auto at = [&](const nlohmann::json& document) -> std::string {
    const nlohmann::json_pointer<std::string> place(pointer);
    // Beyond the end of a list, "/-" names no value.
    return pointer.ends_with("/-") || !document.contains(place) ? "missing"
                                                                : text_of_json_value(document.at(place));
  };
  return (pointer.empty() ? "" : printable(pointer) + " ") + "is " + at(here) + " here, " + at(there) +
         " there";
}

const char* file_type_of(std::uint32_t mode) {
  if (S_ISREG(mode)) return "a file";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISLNK(mode)) return "a link";
  return S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : "a special file";
}

std::string entry_count(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " entry" : " entries");
}

std::string octal_mode(std::uint32_t mode) {
  char digits[8];
  std::snprintf(digits, sizeof digits, "%04o", mode & 07777);
  return digits;
}

// The first name of `names` that is not in `others`; both are sorted.
std::string first_missing(const std::vector<std::string>& names, const std::vector<std::string>& others) {
  const auto at = std::ranges::find_if(
      names, [&](const std::string& name) { return !std::ranges::binary_search(others, name); });
  return at == names.end() ? "" : printable(*at);
}

std::string difference_of_names(const std::string& path, const std::vector<std::string>& here,
                                const std::vector<std::string>& there) {
  if (here == there) return "";
  std::string text =
      path + " has " + entry_count(here.size()) + " here, " + std::to_string(there.size()) + " there";
  const std::string only_here = first_missing(here, there), only_there = first_missing(there, here);
  if (!only_here.empty()) text += "; " + only_here + " is only here";
  if (!only_there.empty())
    text += only_here.empty() ? "; " + only_there + " is only there" : ", " + only_there + " only there";
  return text;
}

// The difference that programs notice first; "": none apart from times and numbers.
std::string difference_of_looks(const std::string& path, const MachineLook& here, const MachineLook& there) {
  const auto found = [](const MachineLook& look) -> std::string {
    return look.error == 0 ? "there" : std::strerror(look.error);
  };
  if (here.error != 0 || there.error != 0) {
    if (here.error == there.error) return "";
    const auto state = [&](const MachineLook& look) -> std::string {
      return look.error == 0        ? file_type_of(look.attributes.mode)
             : look.error == ENOENT ? "missing"
                                    : "refused (" + found(look) + ")";
    };
    return path + " is " + state(here) + " here, " + state(there) + " there";
  }
  const std::uint32_t mode = here.attributes.mode, other = there.attributes.mode;
  if ((mode & S_IFMT) != (other & S_IFMT))
    return path + " is " + file_type_of(mode) + " here, " + file_type_of(other) + " there";
  if (!here.target.empty() && !there.target.empty() && here.target != there.target)
    return path + " leads to " + printable(here.target) + " here, to " + printable(there.target) + " there";
  if (here.names && there.names) {
    if (std::string text = difference_of_names(path, *here.names, *there.names); !text.empty()) return text;
  }
  if (S_ISREG(mode) && here.attributes.size != there.attributes.size)
    return path + " has " + std::to_string(here.attributes.size) + " bytes here, " +
           std::to_string(there.attributes.size) + " there";
  if (mode != other) return path + " has mode " + octal_mode(mode) + " here, " + octal_mode(other) + " there";
  if (here.attributes.user != there.attributes.user || here.attributes.group != there.attributes.group)
    return path + " belongs to user " + std::to_string(here.attributes.user) + " and group " +
           std::to_string(here.attributes.group) + " here, " + std::to_string(there.attributes.user) +
           " and " + std::to_string(there.attributes.group) + " there";
  return "";
}

// The difference of a path in both bundles; "" as above.
std::string difference_at(const std::string& path, const Bundle& here, const Bundle& there) {
  const std::string shown = path.empty() ? "/" : printable(path);
  if (std::string text = difference_of_looks(shown, here.looks().at(path), there.looks().at(path));
      !text.empty())
    return text;
  const bundle::BundleContent *one = here.content_of(path), *other = there.content_of(path);
  if (one == nullptr || other == nullptr || one->checksum == other->checksum) return "";
  return shown + " has other content here than there (" + std::to_string(one->bytes) + " bytes)";
}

std::vector<std::string> differences_of_code(const std::map<std::string, std::string>& here,
                                             const std::map<std::string, std::string>& there) {
  std::vector<std::string> sentences;
  for (const auto& [name, digest] : here) {
    const auto other = there.find(name);
    if (other == there.end())
      sentences.push_back("program or library " + printable(name) + " was executed only here");
    else if (other->second != digest)
      sentences.push_back("program or library " + printable(name) + " has other content here than there");
  }
  for (const auto& [name, digest] : there) {
    if (!here.contains(name))
      sentences.push_back("program or library " + printable(name) + " was executed only there");
  }
  return sentences;
}

// "/a was looked at only here", with the number of further ones.
std::string only_in(const std::vector<std::string>& paths, const char* where) {
  std::string text = (paths[0].empty() ? "/" : printable(paths[0])) + " was looked at only " + where;
  if (paths.size() > 1)
    text += ", as " + std::to_string(paths.size() - 1) + (paths.size() == 2 ? " other path" : " other paths");
  return text;
}

}  // namespace

std::optional<RunInputs> read_inputs(const std::string& path, std::string* failure) {
  RunInputs inputs;
  inputs.path = path;
  if (bundle::is_bundle(path)) {
    inputs.bundle = Bundle::open(path, failure);
    if (!inputs.bundle) return std::nullopt;
    try {
      take_manifest(inputs, nlohmann::json::parse(inputs.bundle->manifest()));
    } catch (const std::exception& e) {
      *failure = printable(path) + " has no valid manifest: " + printable(e.what());
      return std::nullopt;
    }
    return inputs;
  }
  auto summary = read_summary(path, failure);
  if (!summary) return std::nullopt;
  inputs.digest = summary->digest;
  inputs.values = std::move(summary->inputs);
  inputs.code.insert(summary->code.begin(), summary->code.end());
  return inputs;
}

std::vector<std::string> differences_of(const RunInputs& here, const RunInputs& there) {
  std::vector<std::string> sentences;
  const bool are_bundles = here.bundle && there.bundle;
  for (const auto& [name, text] : here.values) {
    const auto other = std::ranges::find(there.values, name, &std::pair<std::string, std::string>::first);
    const bool has_other = other != there.values.end();
    if (has_other ? other->second != text : are_bundles)
      sentences.push_back(differing(printable(name), text, has_other ? other->second : ""));
  }
  if (!here.code.empty() && !there.code.empty())
    std::ranges::copy(differences_of_code(here.code, there.code), std::back_inserter(sentences));
  if (!are_bundles) return sentences;
  for (const auto& [name, content] : here.files) {
    const auto other = there.files.find(name);
    const auto kind = config::kind_of(content);
    const std::string subject = (kind ? std::string(config::name_of(*kind)) : "file") + " " + printable(name);
    if (other == there.files.end()) {
      sentences.push_back(subject + " is only here");
      continue;
    }
    if (std::string text = json_difference(content, other->second); !text.empty())
      sentences.push_back(subject + ": " + text);
  }
  for (const auto& [name, content] : there.files) {
    if (!here.files.contains(name)) sentences.push_back("file " + printable(name) + " is only there");
  }
  std::ranges::copy(differences_of(*here.bundle, *there.bundle), std::back_inserter(sentences));
  return sentences;
}

std::vector<std::string> differences_of(const Bundle& here, const Bundle& there) {
  std::vector<std::string> sentences, only_here, only_there, other_numbers;
  for (const auto& [path, look] : here.looks()) {
    const auto other = there.looks().find(path);
    if (other == there.looks().end()) {
      only_here.push_back(path);
      continue;
    }
    if (std::string text = difference_at(path, here, there); !text.empty())
      sentences.push_back(std::move(text));
    else if (look.error == 0 && !(look.attributes == other->second.attributes))
      other_numbers.push_back(path);
  }
  for (const auto& [path, look] : there.looks()) {
    if (!here.looks().contains(path)) only_there.push_back(path);
  }
  if (!only_here.empty()) sentences.push_back(only_in(only_here, "here"));
  if (!only_there.empty()) sentences.push_back(only_in(only_there, "there"));
  if (!other_numbers.empty()) {
    const std::string first = other_numbers[0].empty() ? "/" : printable(other_numbers[0]);
    sentences.push_back(first + " has other times or inode numbers here than there" +
                        (other_numbers.size() == 1
                             ? ""
                             : ", as " + std::to_string(other_numbers.size() - 1) + " other paths"));
  }
  return sentences;
}

}  // namespace verbatim::cli
