// `verbatim unpack`: the content of a bundle as a list, or as files in a folder.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "sim/bundle/bundle.h"
#include "sim/bundle/bundle_paths.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/output_file.h"
#include "tools/verbatim/text_table.h"

namespace verbatim::cli {

namespace {

using bundle::Bundle;
using bundle::BundleContent;
using bundle::printable;

const char* kind_of_content(const Bundle& bundle, const std::string& path, const BundleContent& content) {
  if (!content.is_included()) return "left out";
  const std::string begin = bundle.beginning_of(content, 4);
  const std::string name = path.substr(path.rfind('/') + 1);
  if (begin ==
      "\x7f"
      "ELF")
    return name.ends_with(".so") || name.find(".so.") != name.npos ? "library" : "program";
  return begin.starts_with("#!") ? "script" : "file";
}

struct ListedFile {
  std::string name;  // path of the machine, or a document's name
  std::string kind;
  const BundleContent* content;
  bool is_first;  // of those with this content
};

std::vector<ListedFile> listed_files(const Bundle& bundle) {
  std::vector<ListedFile> rows;
  std::vector<bool> is_known(bundle.index().contents.size());
  const auto add = [&](const std::string& name, std::string kind, std::uint32_t number) {
    rows.push_back({name, std::move(kind), &bundle.index().contents[number], !is_known[number]});
    is_known[number] = true;
  };
  for (const auto& [path, number] : bundle.index().looks_contents)
    add(path, kind_of_content(bundle, path, bundle.index().contents[number]), number);
  for (const auto& [name, number] : bundle.index().documents) add(name, "document", number);
  return rows;
}

struct LookCounts {
  std::size_t folders = 0, links = 0, missing = 0, others = 0;
};

LookCounts look_counts(const supervisor::MachineLooks& looks) {
  LookCounts counts;
  for (const auto& [path, look] : looks) {
    const std::uint32_t mode = look.attributes.mode;
    if (look.error != 0)
      ++counts.missing;
    else if (S_ISDIR(mode))
      counts.folders += look.names ? 1 : 0;
    else if (S_ISLNK(mode))
      ++counts.links;
    else if (!look.has_content)
      ++counts.others;
  }
  return counts;
}

void list_bundle(const Bundle& bundle, const UnpackOptions& options, Answer& answer) {
  TextTable table;
  Answer::Json files = Answer::Json::array();
  std::uint64_t bytes = 0;
  const std::vector<ListedFile> rows = listed_files(bundle);
  const auto column = [](std::uint64_t number) {
    std::string digits = std::to_string(number);
    return std::string(digits.size() < 11 ? 11 - digits.size() : 0, ' ') + digits;
  };
  table.row({"      bytes", "     stored", "kind", "path"});
  for (const ListedFile& row : rows) {
    bytes += row.content->bytes;
    const std::uint64_t stored = row.is_first ? row.content->compressed : 0;
    table.row({column(row.content->bytes), column(stored), row.kind, printable(row.name)});
    files.push_back({{"path", row.name},
                     {"kind", row.kind},
                     {"bytes", row.content->bytes},
                     {"stored", stored},
                     {"checksum", row.content->checksum}});
  }
  const LookCounts counts = look_counts(bundle.looks());
  answer.print("%s", table.text().c_str());
  answer.print(
      "%s: %.1f MB; %zu files, which take %.1f MB; %zu folders listed, %zu links, %zu names that do not exist, "
      "%zu files not opened\n",
      printable(options.file).c_str(), static_cast<double>(bundle.file_bytes()) / 1e6, rows.size(),
      static_cast<double>(bytes) / 1e6, counts.folders, counts.links, counts.missing, counts.others);
  answer.document()["files"] = std::move(files);
}

// The folder to write to; "" after an error message.
std::string folder_to_unpack(const UnpackOptions& options) {
  std::string folder = options.out;
  if (folder.empty()) {
    folder = std::filesystem::path(options.file).stem().string();
    if (folder == std::filesystem::path(options.file).filename()) folder += ".files";
  }
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(folder, error))) return folder;
  if (std::filesystem::is_directory(folder, error) && std::filesystem::is_empty(folder, error)) return folder;
  complain(printable(folder) + " exists; name a new folder with --out");
  return "";
}

}  // namespace

int unpack(const UnpackOptions& options) {
  protect_input(options.file);
  std::string failure;
  const auto bundle = Bundle::open(options.file, &failure);
  if (!bundle) {
    complain(failure);
    return kUsage;
  }
  Answer answer("unpack", options.style);
  const std::vector<std::string> warnings = bundle::suspicious_paths(bundle->looks());
  answer.document() = {{"bundle", options.file},
                       {"bytes", bundle->file_bytes()},
                       {"checksum", bundle->checksum()},
                       {"warnings", warnings}};
  if (options.is_list) {
    list_bundle(*bundle, options, answer);
    for (const std::string& warning : warnings) complain("warning: " + warning);
    const std::vector<std::string> damage = bundle->damage();
    for (const std::string& sentence : damage) complain(sentence);
    return answer.end(damage.empty() ? kAsExpected : kUsage);
  }
  const std::string folder = folder_to_unpack(options);
  if (folder.empty()) return kUsage;
  failure = bundle->extract(folder);
  if (!failure.empty()) {
    const bool is_damaged = !failure.starts_with("cannot write");
    complain(failure + "; " + printable(folder) + " is not complete");
    return answer.end(is_damaged ? kUsage : kProgramFailed);
  }
  failure = write_document(folder + "/manifest.json", bundle->manifest());
  if (!failure.empty()) {
    complain(failure);
    return answer.end(kProgramFailed);
  }
  answer.print("%s: manifest.json, %zu files in root/, %zu in extra/\n", printable(folder).c_str(),
               bundle->index().looks_contents.size(), bundle->index().documents.size());
  answer.document()["folder"] = folder;
  return answer.end(kAsExpected);
}

}  // namespace verbatim::cli
