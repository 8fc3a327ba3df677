// Converts texts of other tools' files to a checked topology or to findings.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/config/import/import.h"
#include "sim/config/load.h"
#include "tests/config/helpers.h"

namespace verbatim::config::imports {

struct Imported {
  std::optional<Fabric> fabric;
  Written written;
  std::string findings;
  std::optional<TopologySpec> topology;

  std::string assumed() const {
    std::string text;
    for (const Assumption& one : written.assumptions) text += one.text + "\n";
    return text;
  }
};

// If there is a `topology`, the written text has been read back; findings for it fail the test.
inline Imported import_texts(const std::vector<Source>& sources, const Defaults& defaults = {}) {
  Imported result;
  Diagnostics diagnostics;
  result.fabric = read_fabric(sources, std::nullopt, diagnostics);
  EXPECT_EQ(result.fabric.has_value(), diagnostics.empty());
  for (const Finding& finding : diagnostics.findings()) result.findings += to_string(finding) + "\n";
  if (!result.fabric) return result;
  result.written = write_topology(*result.fabric, defaults);
  FileTexts files;
  files.texts["t.json"] = result.written.text;
  for (const ProfileFile& one : result.written.profiles) files.texts[one.name] = one.text;
  LoadOptions options = with_profiles();
  options.files = &files;
  Diagnostics of_topology;
  result.topology = load_topology("t.json", options, of_topology);
  EXPECT_EQ(text_of(of_topology), "") << result.written.text;
  return result;
}

inline Imported import_text(const std::string& text) { return import_texts({{"f", text}}); }

}  // namespace verbatim::config::imports
