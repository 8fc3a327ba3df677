// A stored digest of a run, with the version of the function that made it; version 1 if the file names none.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/observe/digest_sink.h"

namespace verbatim::cli {

struct KeptDigest {
  std::string hex;
  int version = observe::kDigestVersion;

  bool is_comparable() const { return version == observe::kDigestVersion; }
  bool is_same_as(const std::string& digest) const { return is_comparable() && hex == digest; }
  // The reason as a sentence; empty if the digest is comparable.
  std::string why_not() const {
    if (is_comparable()) return "";
    return "its digest is of version " + std::to_string(version) + ", and this verbatim makes version " +
           std::to_string(observe::kDigestVersion) + ": the digests are not compared";
  }
};

inline constexpr const char* kDigestVersionKey = "digest_version";

// Reads an object with "digest" and optionally "digest_version". Throws the exceptions of the JSON library.
template <class Json>
KeptDigest kept_digest_of(const Json& json) {
  return {json.at("digest").template get<std::string>(), json.value(kDigestVersionKey, 1)};
}

}  // namespace verbatim::cli
