// The digest of a run as files keep it: with the version of the function that made it. Files that do not name one have 1.
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
  // A sentence; empty: it is comparable.
  std::string why_not() const {
    if (is_comparable()) return "";
    return "its digest is of version " + std::to_string(version) + ", and this verbatim makes version " +
           std::to_string(observe::kDigestVersion) + ": the digests are not compared";
  }
};

inline constexpr const char* kDigestVersionKey = "digest_version";

// Reads an object with "digest" and perhaps "digest_version". Throws what JSON throws.
template <class Json>
KeptDigest kept_digest_of(const Json& json) {
  return {json.at("digest").template get<std::string>(), json.value(kDigestVersionKey, 1)};
}

}  // namespace verbatim::cli
