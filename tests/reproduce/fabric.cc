#include "tests/reproduce/fabric.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/ib/opcode.h"

namespace verbatim::reproduce {

namespace {

const std::string kProfiles = VERBATIM_SOURCE_DIR "/topologies/profiles";

[[noreturn]] void give_up(const config::Diagnostics& diagnostics) {
  for (const auto& finding : diagnostics.findings()) std::fprintf(stderr, "reproduce: %s\n", config::to_string(finding).c_str());
  std::exit(2);
}

void change(Json& target, const Json& changes) {
  for (const auto& [key, value] : changes.items()) {
    if (value.is_null()) {
      target.erase(key);
    } else if (!target.contains(key)) {
      target[key] = {{"value", value}, {"source", "tests/reproduce"}};
    } else if (Json& at = target[key]; at.is_object() && at.contains("value")) {
      at = {{"value", value}, {"source", "tests/reproduce"}};
    } else if (at.is_object() && value.is_object()) {
      change(at, value);
    } else {
      at = value;
    }
  }
}

std::map<std::string, std::string> profile_texts() {
  std::map<std::string, std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(kProfiles)) {
    std::ifstream stream(entry.path());
    texts[entry.path()] = std::string(std::istreambuf_iterator<char>(stream), {});
  }
  return texts;
}

}  // namespace

Json changed_profile(const std::string& name, const Json& changes) {
  std::ifstream stream(kProfiles + "/" + name + ".json");
  Json profile = Json::parse(stream);
  profile.erase("$schema");
  change(profile, changes);
  return profile;
}

Shape::Shape(const std::string& link_layer) { topology_ = {{"name", "reproduce"}, {"link_layer", link_layer}}; }

std::string Shape::reference(const std::string& profile) const {
  return profiles_.contains(profile + ".json") ? profile + ".json" : profile;
}

void Shape::host(const std::string& name, const std::string& profile) {
  hosts_.push_back({{"name", name}, {"hca", reference(profile)}});
}

void Shape::fabric_switch(const std::string& name, const std::string& profile) {
  switches_.push_back({{"name", name}, {"profile", reference(profile)}, {"ports", 0}});
  ports_[name] = 0;
}

void Shape::cable(const std::string& a, const std::string& b, const std::string& rate, const Json& further) {
  const auto end_at = [this](const std::string& node) {
    const auto found = ports_.find(node);
    return node + ":" + std::to_string(found == ports_.end() ? 1 : ++found->second);
  };
  const std::string end_a = end_at(a), end_b = end_at(b);
  ends_[{a, b}] = end_a;
  ends_[{b, a}] = end_b;
  Json link = {{"a", end_a}, {"b", end_b}, {"rate", rate}};
  link.update(further);
  links_.push_back(link);
}

Json Shape::topology() const {
  Json whole = topology_;
  whole["hosts"] = hosts_;
  whole["switches"] = switches_;
  for (Json& one : whole["switches"]) one["ports"] = std::max(ports_.at(one["name"].get<std::string>()), 1u);
  whole["links"] = links_;
  return whole;
}

std::string Shape::write(const std::string& folder) const {
  const std::string path = folder + "/topology.json";
  std::ofstream(path) << topology().dump(1);
  for (const auto& [name, content] : profiles_) std::ofstream(folder + "/" + name) << content.dump(1);
  return path;
}

Fabric::Fabric(const Shape& shape, std::uint64_t seed) {
  const std::string path = "topology.json";
  // No files are read from disk: `texts` contains all, including the fabric's own profiles.
  config::FileTexts files{.texts = profile_texts(), .are_all = true};
  files.texts[path] = shape.topology().dump();
  for (const auto& [name, content] : shape.profiles()) files.texts[name] = content.dump();
  config::LoadOptions options{{kProfiles}};
  options.files = &files;
  config::Diagnostics diagnostics;
  topology_ = config::load_topology(path, options, diagnostics);
  if (!topology_) give_up(diagnostics);
  simulation_.emplace(*topology_, seed, choices_);
}

const workload::Flow& Fabric::add(config::FlowSpec flow) {
  const auto from = topology_->host(flow.from), to = topology_->host(flow.to);
  CHECK(from && to && from != to);
  flow.from_adapter = *from;
  flow.to_adapter = *to;
  flow.is_resolved = true;
  return *config::add_traffic(*simulation_, config::traffic_of({flow}), workload_).front();
}

const workload::GraphRun& Fabric::add(const config::DrawnGraph& graph) {
  return *config::add_graphs(*simulation_, {graph}, workload_).front();
}

void Fabric::add_faults(const std::vector<Json>& faults) {
  std::vector<config::FaultSpec> specs;
  config::Diagnostics diagnostics;
  for (const Json& fault : faults) {
    const auto spec = config::parse_fault(fault.dump(), *topology_, "fault", diagnostics);
    if (!spec) give_up(diagnostics);
    specs.push_back(*spec);
  }
  simulation_->add_faults(specs);
}

void Fabric::run(Instant end) {
  while (!workload_.is_done() && !engine().empty() && engine().next_event_time() <= end) engine().step();
}

std::uint32_t Fabric::port(const std::string& end) const { return simulation_->components().id("port/" + end).value; }

double time_us(const workload::Flow& flow) {
  CHECK(flow.is_done() && flow.status() == ib::WcStatus::kSuccess);
  return static_cast<double>((flow.finish() - flow.params().start).count()) * 1e-6;
}

void Meter::on_record(const TraceRecord& record, std::span<const std::byte>) {
  const bool leaves = record.event == TraceEvent::kPacketTransmitted && record.component == port_;
  const bool joins = record.event == TraceEvent::kPacketReceived && std::ranges::find(inputs_, record.component) != inputs_.end();
  if (!leaves && !joins) return;
  if (!ib::info(static_cast<ib::Opcode>(record.values[0])).has_payload) return;
  const std::uint64_t wire_bytes = record.values[3];
  if (joins) {
    queued_ += static_cast<std::int64_t>(wire_bytes);
    return;
  }
  bytes_[record.values[1]] += wire_bytes + kBetweenFrames;
  queued_ -= static_cast<std::int64_t>(wire_bytes);
  if (!inputs_.empty()) ++left_behind_[queued_ / 1000];
}

void Meter::clear() {
  bytes_.clear();
  left_behind_.clear();
}

std::uint64_t Meter::all_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [qpn, bytes] : bytes_) sum += bytes;
  return sum;
}

double Meter::queue_p90() const {
  std::uint64_t packets = 0, seen = 0;
  for (const auto& [kb, count] : left_behind_) packets += count;
  for (const auto& [kb, count] : left_behind_) {
    seen += count;
    if (seen * 10 >= packets * 9) return static_cast<double>(kb) * 1000;
  }
  return 0;
}

}  // namespace verbatim::reproduce
