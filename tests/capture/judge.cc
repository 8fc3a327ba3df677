#include "tests/capture/judge.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <sstream>

#include "sim/ib/opcode.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::capture {

namespace {

using support::TemporaryFolder;

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(line);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// "opcode=Send-First dest_qp=72" by name.
struct Record {
  std::uint64_t nanoseconds = 0;
  std::string component, event;
  std::map<std::string, std::string> values;
  std::uint64_t number(const std::string& key) const { return std::stoull(values.at(key), nullptr, 0); }
};

std::vector<Record> records_of(const std::string& trace) {
  std::vector<Record> records;
  std::stringstream stream(trace);
  for (std::string line; std::getline(stream, line);) {
    std::stringstream words(line);
    Record record;
    std::string time, unit;
    words >> time >> unit >> record.component >> record.event;
    // Microseconds with six decimals.
    const std::size_t point = time.find('.');
    record.nanoseconds =
        std::stoull(time.substr(0, point)) * 1000 + std::stoull(time.substr(point + 1)) / 1000;
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos) record.values[word.substr(0, equals)] = word.substr(equals + 1);
    }
    records.push_back(std::move(record));
  }
  return records;
}

// tshark's reading, one row a packet.
struct Row {
  std::string interface, time, opcode, psn, destination, va, length, syndrome, msn, malformed, protocols;
};

std::vector<Row> tshark(const std::string& file) {
  const std::string command =
      "tshark -r " + support::quoted(file) +
      " --disable-heuristic rpcrdma_infiniband -T fields -E separator=/t -e frame.interface_name -e "
      "frame.time_epoch"
      " -e infiniband.bth.opcode -e infiniband.bth.psn -e infiniband.bth.destqp -e infiniband.reth.va"
      " -e infiniband.reth.dmalen -e infiniband.aeth.syndrome -e infiniband.aeth.msn -e _ws.malformed -e frame.protocols"
      " 2>/dev/null";
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::string text;
  char buffer[65536];
  while (const std::size_t n = std::fread(buffer, 1, sizeof(buffer), pipe.get())) text.append(buffer, n);
  std::vector<Row> rows;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    std::vector<std::string> cells = split(line, '\t');
    cells.resize(11);
    rows.push_back({cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6], cells[7], cells[8], cells[9],
                    cells[10]});
  }
  return rows;
}

// A program's bytes that happen to begin like an Ethernet type are read as a packet of that type; no option turns this
// guess off, and all before them has been read as it is.
bool is_guessed(const Row& row) { return row.protocols.find(":infiniband:ethertype") != std::string::npos; }

std::uint64_t number(const std::string& text) { return text.empty() ? ~0ull : std::stoull(text, nullptr, 0); }

std::string epoch(std::uint64_t nanoseconds) {
  std::string decimals = std::to_string(nanoseconds % 1'000'000'000);
  decimals.insert(0, 9 - decimals.size(), '0');
  return std::to_string(nanoseconds / 1'000'000'000) + "." + decimals;
}

std::string name_of(std::uint64_t opcode) {
  std::string name(ib::info(static_cast<ib::Opcode>(opcode)).name);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

bool is_of(const Record& record, const char* folder) { return record.component.starts_with(folder); }
std::string after_slash(const std::string& component) { return component.substr(component.find('/') + 1); }

// The AETHs of acknowledgements match the adapters' records, and RETHs match the work requests.
void compare_headers(const std::vector<Record>& records, const std::vector<const Record*>& packets,
                     const std::vector<Row>& rows, Judged& result) {
  std::map<std::string, std::multiset<std::string>> sent, lengths, written;
  for (const Record& record : records) {
    const std::string host = after_slash(record.component);
    if (record.event == "ack-sent") {
      sent[host].insert(std::to_string(record.number("psn")) + "/" +
                        std::to_string(record.number("syndrome")) + "/" +
                        std::to_string(record.number("msn")));
    } else if (record.event == "wqe-fetched") {
      lengths[host].insert(std::to_string(record.number("length")));
    } else if (record.event == "dma-write") {
      written[host].insert(std::to_string(record.number("va")));
    }
  }
  constexpr std::uint64_t kAcknowledge = 0x11, kReadRequest = 0x0c, kOperation = 0x1f, kXrc = 0xa0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const std::uint64_t opcode = number(row.opcode);
    const std::string host = row.interface.substr(0, row.interface.find(':'));
    const bool leaves_host = packets[i]->event == "packet-transmitted" && sent.contains(host);
    if ((opcode & kOperation) == kAcknowledge && packets[i]->event == "packet-transmitted" &&
        !is_of(*packets[i], "port/leaf") && !is_of(*packets[i], "port/spine")) {
      std::uint64_t syndrome = number(row.syndrome), msn = number(row.msn);
      if ((opcode & 0xe0) == kXrc) {  // which tshark does not know
        const std::uint8_t* header = &result.frames[i].bytes.at(bth_of(result.frames[i]) + 12);
        syndrome = header[0];
        msn = std::uint64_t{header[1]} << 16 | std::uint64_t{header[2]} << 8 | header[3];
      }
      const std::string aeth = row.psn + "/" + std::to_string(syndrome) + "/" + std::to_string(msn);
      EXPECT_TRUE(leaves_host && sent[host].contains(aeth)) << "packet " << i + 1 << ": AETH " << aeth;
      if (leaves_host && sent[host].contains(aeth)) sent[host].erase(sent[host].find(aeth));
      ++result.aeths;
    }
    if (row.va.empty() || row.length.empty()) continue;  // an atomic's address is shown as a RETH's
    if (packets[i]->event == "packet-transmitted" && lengths.contains(host)) {
      EXPECT_TRUE(lengths[host].contains(std::to_string(number(row.length))))
          << "packet " << i + 1 << ": no work request of " << row.length << " bytes";
      ++result.reths;
    }
    const bool is_write = (opcode & kOperation) != kReadRequest && number(row.length) > 0;
    if (is_write && packets[i]->event == "packet-received" && written.contains(host)) {
      EXPECT_TRUE(written[host].contains(std::to_string(number(row.va))))
          << "packet " << i + 1 << ": nothing was written to " << row.va;
    }
  }
  for (const auto& [host, left] : sent) {
    EXPECT_TRUE(left.empty()) << host << " sent " << left.size()
                              << " acknowledgements that are not in the capture";
  }
}

}  // namespace

std::string Judged::summary() const {
  std::string text = std::to_string(packets) + " packets, " + std::to_string(malformed) + " malformed, " +
                     (guessed == 0 ? "" : "the program's bytes misread in " + std::to_string(guessed) + ", ") +
                     std::to_string(reths) + " RETH and " + std::to_string(aeths) +
                     " AETH compared, ICRC wrong on " + std::to_string(corrupted) + " corrupted";
  for (const auto& [comment, count] : comments)
    text += "; " + std::to_string(count) + " x \"" + comment + "\"";
  return text;
}

Judged judge(const std::string& arguments) {
  const TemporaryFolder folder;
  const std::string pcap = folder.path() + "/run.pcapng", trace = folder.path() + "/trace.txt";
  const std::string command = support::quoted(support::verbatim_program()) + " run --pcap " +
                              support::quoted(pcap) + " --trace " + support::quoted(trace) + " --quiet " +
                              arguments;
  Judged result;
  const int status = std::system(command.c_str());
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

  const std::vector<Record> records = records_of(support::text_of_file(trace));
  std::vector<const Record*> packets;
  for (const Record& record : records) {
    if (record.event == "packet-transmitted" || record.event == "packet-received" ||
        record.event == "packet-dropped") {
      packets.push_back(&record);
    }
  }
  result.frames = read_pcapng(pcap);
  const std::vector<Row> rows = tshark(pcap);
  result.packets = rows.size();
  EXPECT_EQ(rows.size(), packets.size()) << command;
  EXPECT_EQ(rows.size(), result.frames.size()) << command;
  if (rows.size() != packets.size() || rows.size() != result.frames.size()) return result;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const Record& record = *packets[i];
    const Frame& frame = result.frames[i];
    const std::string place = command + "\npacket " + std::to_string(i + 1);
    if (!row.malformed.empty()) ++(is_guessed(row) ? result.guessed : result.malformed);
    EXPECT_EQ(row.time, epoch(record.nanoseconds)) << place;
    EXPECT_EQ(frame.nanoseconds, record.nanoseconds) << place;
    if (is_of(record, "port/")) {
      EXPECT_EQ("port/" + row.interface, record.component) << place;
    }
    EXPECT_EQ(name_of(number(row.opcode)), record.values.at("opcode")) << place;
    EXPECT_EQ(number(row.psn), record.number("psn")) << place;
    EXPECT_EQ(number(row.destination), record.number("dest_qp")) << place;
    if (record.event == "packet-transmitted") {
      EXPECT_TRUE(frame.outbound) << place;
      EXPECT_EQ(frame.bytes.size() + (frame.is_ethernet ? 4 : 0), record.number("wire_bytes")) << place;
    }
    if (!frame.comment.empty()) ++result.comments[frame.comment];
    const bool is_corrupted = frame.comment.find("corrupted") != std::string::npos;
    result.corrupted += is_corrupted;
    EXPECT_EQ(is_icrc_right(frame), !is_corrupted) << place;
    EXPECT_TRUE(is_vcrc_right(frame)) << place;
    if (::testing::Test::HasFailure()) return result;  // the others would say the same
  }
  EXPECT_EQ(result.malformed, 0u) << command;
  compare_headers(records, packets, rows, result);
  std::printf("%s\n", result.summary().c_str());
  return result;
}

}  // namespace verbatim::capture
