// Parking of threads without processes: the test's own memory and machine code serve as the program's.
#include "sim/supervisor/parking_lot.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "sim/supervisor/kernel/checks.h"
#include "sim/supervisor/run_memory.h"
#include "sim/supervisor/run_report.h"
#include "sim/supervisor/thread_times.h"
#include "verbs_shim/protocol/clocks.h"
#include "verbs_shim/protocol/layout.h"
#include "verbs_shim/protocol/patches.h"

// `parking_poll` stands for ibv_poll_cq(): the prover knows its address, and it finds nothing.
asm(R"(
.pushsection .text
.p2align 4
parking_spin:       mov (%rdi), %eax
                    test %eax, %eax
                    je parking_spin
                    ret
parking_count:      inc %rax
                    cmp $0x40000000, %rax
                    jne parking_count
                    ret
parking_poll:       xor %eax, %eax
                    ret
parking_one_poll:   mov %rbx, %rdi
                    mov $1, %esi
                    mov %rbp, %rdx
                    call parking_poll
parking_one_return: test %eax, %eax
                    je parking_one_poll
                    ret
parking_two_polls:  mov %rbx, %rdi
                    mov $1, %esi
                    mov %rbp, %rdx
                    call parking_poll
parking_two_return: test %eax, %eax
                    jne 1f
                    mov (%r12), %eax
                    test %eax, %eax
                    jne 1f
                    mov %rbx, %rdi
                    mov $1, %esi
                    mov %rbp, %rdx
                    call parking_poll
                    test %eax, %eax
                    je parking_two_polls
1:                  ret
parking_stores:     mov %rbx, %rdi
                    mov $1, %esi
                    mov %rbp, %rdx
                    call parking_poll
parking_stores_return: movl $5, (%r12)
                    test %eax, %eax
                    je parking_stores
                    ret
parking_counts:     mov %rbx, %rdi
                    mov $1, %esi
                    mov %rbp, %rdx
                    call parking_poll
parking_counts_return: addl $1, (%r12)
                    test %eax, %eax
                    je parking_counts
                    ret
parking_scan:       xor %ecx, %ecx
2:                  cmpl $0, (%rdi,%rcx,4)
                    jne 3f
                    inc %ecx
                    cmp $5000, %ecx
                    jne 2b
                    jmp parking_scan
3:                  ret
.popsection
)");
extern "C" const char parking_spin[], parking_count[], parking_poll[], parking_one_return[],
    parking_two_return[], parking_stores_return[], parking_counts_return[], parking_scan[];

namespace verbatim::supervisor {
namespace {

constexpr Duration kPollCost(100'000);  // ps
constexpr unsigned kRdx = 2, kRbx = 3, kRsp = 4, kRbp = 5, kRsi = 6, kRdi = 7, kR12 = 12, kRip = 16;

std::uint64_t address_of(const void* object) { return reinterpret_cast<std::uint64_t>(object); }

// Memory that processes share.
struct SharedWord {
  SharedWord()
      : word(static_cast<int*>(
            mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedWord() { munmap(word, sizeof(int)); }
  int* const word;
};

struct ParkingLotTest : ::testing::Test, ThreadOwner {
  ParkingLotTest() {
    options.traps_loops = false;  // the test's code is not patched
    processes.begin(programs, options.seed);
  }

  Process& add_process() {
    Process& process = processes.add(std::make_unique<Process>(
        0, processes.new_pid(), hosts[0], 0, "app", Rng(1, "parking"), std::make_unique<ProcessRegion>()));
    process.set_native_pid(getpid());
    process.set_owner(*this);
    process.set_patches(std::make_unique<code::CodePatches>());
    memory.use_for(process);
    process.memory().set_write_listener(
        [this, &process](const ProcessMemory::Written& written) { lot.on_memory_written(process, written); });
    return process;
  }
  Thread& add_thread(Process& process) {
    const auto slot = static_cast<std::uint32_t>(process.threads().size());
    process.threads().push_back(std::make_unique<Thread>(engine, choices, ComponentId{++threads}, process,
                                                         slot, threads, hosts[0].costs));
    return *process.threads().back();
  }

  // The thread was poked in `code` with `argument` in rdi.
  request::Poke poked_in(const char* code, const int* argument) {
    auto& general = context.uc_mcontext.gregs;
    general[REG_RIP] = static_cast<greg_t>(address_of(code));
    general[REG_RDI] = static_cast<greg_t>(address_of(argument));
    general[REG_RSP] = static_cast<greg_t>(address_of(&stack[kTop]));
    context.uc_mcontext.fpregs = &floating;
    return {.context = address_of(&context)};
  }
  void spin(Thread& thread, const int* word) {
    const request::Poke poke = poked_in(parking_spin, word);
    auto parked = lot.find_spin(thread, poke);
    ASSERT_TRUE(parked) << why_not_parked(thread.process());
    lot.park_spin(thread, poke, std::move(*parked), engine.now());
    ASSERT_NE(thread.parking.loop(), nullptr);
  }

  // The thread's poll is due: ibv_poll_cq(queue, 1, completion), from the loop that continues at `code`, with
  // the loop's own word at r12.
  std::optional<Answer> poll(Thread& thread, const char* code, const int* word = nullptr) {
    protocol::ThreadSlot& slot = thread.process().region().slot(thread.slot());
    stack[kTop] = address_of(code);
    slot.poll_registers[kRbx] = slot.poll_registers[kRdi] = address_of(&queue);
    slot.poll_registers[kRsi] = 1;
    slot.poll_registers[kRbp] = slot.poll_registers[kRdx] = address_of(&completion);
    slot.poll_registers[kR12] = address_of(word);
    slot.poll_registers[kRsp] = address_of(&stack[kTop]);
    slot.poll_registers[kRip] = address_of(parking_poll);
    // The frame of the poll holds the registers that the called function preserves.
    for (std::size_t i = 0; i < std::size(protocol::kPollFrame); ++i)
      stack[kTop - 1 - i] = slot.poll_registers[protocol::kPollFrame[i]];
    request::Poll polled;
    polled.seen = {.handle = address_of(&queue), .queue = {1, 7}, .sequence = 1, .cost = kPollCost};
    thread.set_request(polled);
    return lot.park_poll(thread, polled);
  }
  bool is_parked(const Thread& thread) const { return thread.parking.loop() != nullptr; }

  // Writes like the adapter.
  void place(Process& process, int* word, int value) {
    process.memory().write(address_of(word), std::as_bytes(std::span(&value, 1)));
  }
  // Runs the action at that time.
  template <class Action>
  void at(Instant when, Action action) {
    Timer timer(engine, ComponentId{0}, EventClass::kArrival, &action,
                [](void* self) { (*static_cast<Action*>(self))(); });
    timer.schedule_at(when);
    engine.run_until(when);
  }

  void on_due(Thread& thread) override { due.emplace_back(thread.tid(), engine.now()); }
  void ring(Thread&, const protocol::QueuedDoorbell&) override {}

  static constexpr std::size_t kTop = 448;
  const std::vector<HostSpec> hosts = std::vector<HostSpec>(1);
  const std::vector<ProgramSpec> programs = std::vector<ProgramSpec>(1);
  SupervisorOptions options;
  Engine engine;
  Tracer tracer{engine};
  DefaultChoices choices;
  const RunContext run{engine, tracer, choices, hosts, options};
  RunReport report{run};
  RunMemory memory{1};
  ThreadTimes times{report};
  Checks checks{tracer, options};
  ProcessList processes{1};
  ParkingLot lot{run, processes, times, checks};
  std::uint32_t threads = 0;
  std::vector<std::pair<std::uint32_t, Instant>> due;

  ucontext_t context{};
  _libc_fpstate floating{};
  std::uint64_t stack[512] = {};
  std::uint64_t queue[8] = {}, completion[6] = {};
  int word = 0, other_word = 0;
};

TEST_F(ParkingLotTest, a_spin_is_woken_by_a_write_that_changes_what_it_reads) {
  Process& process = add_process();
  Thread& thread = add_thread(process);
  spin(thread, &word);
  place(process, &other_word, 1);
  EXPECT_TRUE(is_parked(thread)) << "other bytes";
  place(process, &word, 0);
  EXPECT_TRUE(is_parked(thread)) << "the same value";
  at(Instant(Duration(5000)), [&] { place(process, &word, 1); });
  EXPECT_FALSE(is_parked(thread));
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].second, Instant(Duration(5000)));
}

TEST_F(ParkingLotTest, a_loop_that_ends_by_itself_is_not_parked) {
  Process& process = add_process();
  Thread& thread = add_thread(process);
  EXPECT_FALSE(lot.find_spin(thread, poked_in(parking_count, nullptr)));
  EXPECT_FALSE(why_not_parked(process).empty());
}

TEST_F(ParkingLotTest, a_spin_is_woken_after_another_thread_of_the_host_has_changed_what_it_reads) {
  Process& process = add_process();
  Thread& thread = add_thread(process);
  spin(thread, &word);
  lot.check_watched(process);
  EXPECT_TRUE(is_parked(thread)) << "nothing has changed";
  word = 1;  // by the other thread itself, unseen by the simulator
  memory.begin_epoch(process);
  lot.check_watched(process);
  EXPECT_FALSE(is_parked(thread));
}

TEST_F(ParkingLotTest, a_write_to_shared_memory_wakes_a_thread_of_another_process) {
  Process& process = add_process();
  Process& other = add_process();
  SharedWord shared;
  Thread& thread = add_thread(process);
  spin(thread, shared.word);
  place(other, &other_word, 1);
  EXPECT_TRUE(is_parked(thread)) << "other bytes";
  place(other, shared.word, 1);
  EXPECT_FALSE(is_parked(thread));
}

TEST_F(ParkingLotTest, a_write_to_memory_that_is_not_shared_wakes_no_thread_of_another_process) {
  Process& process = add_process();
  Process& other = add_process();
  Thread& thread = add_thread(process);
  spin(thread, &word);
  place(other, &word, 1);  // another word at the same address
  EXPECT_TRUE(is_parked(thread));
}

TEST_F(ParkingLotTest, a_poll_loop_resumes_with_its_first_look_after_the_wake_up) {
  Thread& thread = add_thread(add_process());
  EXPECT_FALSE(poll(thread, parking_one_return)) << why_not_parked(thread.process());
  ASSERT_TRUE(is_parked(thread));
  EXPECT_EQ(thread.parking.loop()->turn, kPollCost);
  EXPECT_TRUE(thread.parking.loop()->polls(1, 7));
  at(Instant(kPollCost * 9 + Duration(1)), [&] { thread.wake(); });
  EXPECT_FALSE(is_parked(thread));
  engine.run_until(Instant(kPollCost * 20));
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].second, Instant(kPollCost * 10));
}

TEST_F(ParkingLotTest, a_thread_that_was_just_woken_polls_once_more_before_it_is_parked_again) {
  Thread& thread = add_thread(add_process());
  ASSERT_FALSE(poll(thread, parking_one_return));
  at(Instant(kPollCost), [&] { thread.wake(); });
  EXPECT_TRUE(poll(thread, parking_one_return)) << "the change that it was parked for may be there";
  EXPECT_FALSE(poll(thread, parking_one_return));
}

TEST_F(ParkingLotTest, no_poll_is_parked_while_another_thread_of_the_host_is_about_to_run) {
  Process& process = add_process();
  Thread& thread = add_thread(process);
  Thread& other = add_thread(process);
  other.set_request(request::Spend{});
  other.run_at(Instant(std::chrono::microseconds(1)));
  EXPECT_TRUE(poll(thread, parking_one_return));
  other.set_request(request::Poll{});  // expected to find nothing
  EXPECT_FALSE(poll(thread, parking_one_return));
}

TEST_F(ParkingLotTest, a_poll_is_parked_while_another_thread_of_the_host_is_late) {
  Process& process = add_process();
  Thread& thread = add_thread(process);
  Thread& late = add_thread(process);
  late.set_request(request::Spend{});
  late.run_at(Instant(std::chrono::milliseconds(20)));
  EXPECT_FALSE(poll(thread, parking_two_return, &word));
  // It changes a word that the parked thread reads.
  word = 1;
  memory.begin_epoch(process);
  lot.check_watched(process);
  EXPECT_FALSE(is_parked(thread));
}

TEST_F(ParkingLotTest, no_poll_is_parked_until_the_host_stalls) {
  Process& process = add_process();
  Thread& thread = add_thread(process);
  Thread& late = add_thread(process);
  late.set_request(request::Spend{});
  late.run_at(Instant(std::chrono::milliseconds(20)));
  ASSERT_FALSE(poll(thread, parking_one_return));
  const Instant from(std::chrono::microseconds(3)), until(std::chrono::milliseconds(20));
  processes.stall_host(late, from, until, engine.now());
  EXPECT_FALSE(is_parked(thread)) << "it looks at its own times until the stall, and at the end of it";
  thread.parking.take_unparked();
  EXPECT_TRUE(poll(thread, parking_one_return));
  EXPECT_EQ(processes.stalls().next(0, engine.now()), from);
  EXPECT_EQ(processes.stalls().end_of(0, from - Duration(1)), from - Duration(1));
  EXPECT_EQ(processes.stalls().end_of(0, from), until);
  EXPECT_EQ(processes.stalls().end_of(0, until), until);
  // One stall that begins in another is part of it.
  processes.stall_host(late, until - Duration(5), until + Duration(5), engine.now());
  EXPECT_EQ(processes.stalls().end_of(0, from), until + Duration(5));
}

TEST_F(ParkingLotTest, no_poll_is_parked_call_by_call) {
  options.mode = Mode::kCallByCall;
  const auto answer = poll(add_thread(add_process()), parking_one_return);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->result, protocol::kPollsAlone);
}

TEST_F(ParkingLotTest, no_poll_is_parked_if_its_entry_is_visible) {
  Process& process = add_process();
  Thread& thread = add_thread(process);
  auto* const entry = reinterpret_cast<protocol::Cqe*>(process.region().arena().data());
  entry->sequence = 1;
  EXPECT_TRUE(poll(thread, parking_one_return));
  entry->sequence = 0;
  EXPECT_FALSE(poll(thread, parking_one_return));
}

// Polls are at 0, c, 2c, … The first poll of a turn is at an even multiple, and the loop reads its word
// after it.
TEST_F(ParkingLotTest, a_turn_that_is_completed_in_the_past_finds_memory_as_it_was) {
  Process& process = add_process();
  Thread& thread = add_thread(process);
  ASSERT_FALSE(poll(thread, parking_two_return, &word)) << why_not_parked(process);
  ASSERT_EQ(thread.parking.loop()->turn, 2 * kPollCost);
  at(Instant(kPollCost * 4 + Duration(1)), [&] { place(process, &word, 1); });
  ASSERT_FALSE(is_parked(thread));
  const auto turn = thread.parking.take_turn();
  ASSERT_TRUE(turn);
  EXPECT_EQ(turn->start, Instant(kPollCost * 4));
  EXPECT_EQ(turn->due, Instant(kPollCost * 5));
  const ParkingLot::TurnStart begun = lot.start_turn(thread, *turn);
  EXPECT_FALSE(begun.goes_on) << "the thread returns the token before it sees the change";
  EXPECT_EQ(word, 0);
  lot.end_turn(process);
  EXPECT_EQ(word, 1);
}

TEST_F(ParkingLotTest, a_turn_without_changed_memory_goes_on) {
  Process& process = add_process();
  Thread& thread = add_thread(process);
  ASSERT_FALSE(poll(thread, parking_two_return, &word));
  at(Instant(kPollCost * 4 + Duration(1)), [&] { thread.wake(); });
  const auto turn = thread.parking.take_turn();
  ASSERT_TRUE(turn);
  EXPECT_TRUE(lot.start_turn(thread, *turn).goes_on);
}

TEST_F(ParkingLotTest, what_each_turn_stores_is_in_memory_from_the_beginning) {
  Thread& thread = add_thread(add_process());
  ASSERT_FALSE(poll(thread, parking_stores_return, &word)) << why_not_parked(thread.process());
  EXPECT_EQ(word, 5);
}

// The proof of an earlier wait is of a counter that only its thread sees.
TEST_F(ParkingLotTest, a_counter_that_is_shared_by_now_has_no_kept_proof) {
  Thread& thread = add_thread(add_process());
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  constexpr int kRights = PROT_READ | PROT_WRITE;
  auto* const counter = static_cast<int*>(mmap(nullptr, page, kRights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(counter, MAP_FAILED);
  const auto wait_again = [&] {
    if (is_parked(thread)) thread.wake();
    for (int polls = 0; polls < 3 && !is_parked(thread); ++polls) poll(thread, parking_counts_return, counter);
    return is_parked(thread);
  };
  ASSERT_TRUE(wait_again()) << why_not_parked(thread.process());
  *counter = 5;
  ASSERT_TRUE(wait_again()) << why_not_parked(thread.process());
  thread.wake();
  ASSERT_EQ(mmap(counter, page, kRights, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0), counter);
  *counter = 5;
  EXPECT_FALSE(wait_again());
  munmap(counter, page);
}

TEST_F(ParkingLotTest, a_trapped_loop_is_counted_and_does_not_poke_itself) {
  Process& process = add_process();
  Thread& thread = add_thread(process);
  request::Poke trapped = poked_in(parking_spin, &word);
  trapped.jump = address_of(parking_spin) + 4;
  ASSERT_TRUE(lot.find_spin(thread, trapped)) << why_not_parked(process);
  EXPECT_EQ(lot.analyst_of(process).counts().trapped, 1u);
  EXPECT_EQ(lot.analyst_of(process).counts().proofs, 1u);
  const request::Poke poked = poked_in(parking_spin, &word);
  ASSERT_TRUE(lot.find_spin(thread, poked));
  EXPECT_EQ(lot.analyst_of(process).counts().trapped, 1u);
  EXPECT_EQ(lot.analyst_of(process).counts().refusals, 0u);
}

TEST_F(ParkingLotTest, a_spin_has_its_code_and_the_address_that_it_waits_for) {
  Process& process = add_process();
  Thread& thread = add_thread(process);
  const auto parked = lot.find_spin(thread, poked_in(parking_spin, &word));
  ASSERT_TRUE(parked);
  EXPECT_EQ(parked->awaited, address_of(&word));
  EXPECT_GE(parked->code, address_of(parking_spin));
  EXPECT_LT(parked->code, address_of(parking_count));
}

// 20,000 instructions in a turn: more than a usual analysis interprets.
TEST_F(ParkingLotTest, a_long_loop_is_found_after_ten_pokes_and_next_time_after_one) {
  Process& process = add_process();
  Thread& thread = add_thread(process);
  const std::vector<int> words(5000);
  const auto is_found = [&] { return lot.find_spin(thread, poked_in(parking_scan, words.data())).has_value(); };
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(is_found()) << i;
  EXPECT_TRUE(is_found()) << why_not_parked(process);
  lot.analyst_of(process).begin_slice();
  EXPECT_FALSE(is_found());
  EXPECT_TRUE(is_found());
}

TEST_F(ParkingLotTest, a_computation_is_poked_less_often_until_a_loop_is_found) {
  Process& process = add_process();
  Thread& thread = add_thread(process);
  LoopAnalyst& analyst = lot.analyst_of(process);
  EXPECT_EQ(LoopAnalyst::first_poke_backoff(), 8u);
  std::vector<unsigned> backoffs;
  for (int i = 0; i < 12; ++i) {
    backoffs.push_back(analyst.poke_backoff());
    EXPECT_FALSE(lot.find_spin(thread, poked_in(parking_count, nullptr)));
  }
  EXPECT_EQ(backoffs, (std::vector<unsigned>{8, 8, 16, 16, 32, 32, 64, 64, 128, 128, 256, 256}));
  EXPECT_EQ(analyst.poke_backoff(), 256u);
  memory.begin_epoch(process);  // the context changes without a write by the simulator
  ASSERT_TRUE(lot.find_spin(thread, poked_in(parking_spin, &word))) << why_not_parked(process);
  EXPECT_EQ(analyst.poke_backoff(), 1u);
}

// A thread that waits for a time: mov $1, %edi; mov %rbx, %rsi; call *%r12; mov (%rbx), %eax; and again.
TEST_F(ParkingLotTest, times_of_a_series_of_clock_reads_are_written_before_memory_is_used) {
  alignas(4096) static std::uint8_t code[4096] = {0xbf, 1,    0,    0,    0,    0x48, 0x89, 0xde,
                                                  0x41, 0xff, 0xd4, 0x8b, 0x03, 0xeb, 0xf1};
  constexpr std::size_t kReturn = 11;
  Process& process = add_process();
  Thread& thread = add_thread(process);
  LoopAnalyst& analyst = lot.analyst_of(process);
  spin::Registers registers;
  registers.rip = registers.gpr[kR12] = protocol::kRuntimeImage + 0x100;  // clock_gettime
  registers.gpr[kRdi] = 1;                                                // CLOCK_MONOTONIC
  registers.gpr[kRsp] = address_of(&stack[kTop]);
  registers.gpr[kRbx] = registers.gpr[kRsi] = address_of(&stack[kTop + 8]);
  stack[kTop] = address_of(code) + kReturn;
  std::int64_t base = 0;
  ASSERT_TRUE(protocol::clock_base(1, options.epoch_ns, &base));
  for (const std::int64_t ns : {5'000, 7'000}) {
    const auto step = analyst.follow_clock(thread, registers, Instant(Duration(ns * 1000)), Instant(Duration(5'000'000)));
    ASSERT_TRUE(step) << analyst.refusal();
    EXPECT_EQ(step->at_entry.rip, registers.rip);
    registers = step->at_entry;
  }
  analyst.write_followed();
  const auto shown = process.memory().load<std::array<std::int64_t, 2>>(address_of(&stack[kTop + 8]));
  ASSERT_TRUE(shown);
  EXPECT_EQ((*shown)[0] * 1'000'000'000 + (*shown)[1], base + 7'000);
  EXPECT_EQ(analyst.counts().clock_reads, 2u);
}

TEST_F(ParkingLotTest, clock_reads_that_were_followed_in_vain_are_skipped_for_longer_and_longer) {
  LoopAnalyst& analyst = lot.analyst_of(add_process());
  constexpr std::uint64_t kPlace = 5;
  const auto skipped = [&] {
    int count = 0;
    while (!analyst.may_follow_clock(kPlace)) ++count;
    return count;
  };
  EXPECT_EQ(skipped(), 0);
  for (const int count : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024}) {
    analyst.note_followed(kPlace, true);
    EXPECT_TRUE(analyst.may_follow_clock(kPlace + 1)) << "another place";
    EXPECT_EQ(skipped(), count);
  }
  analyst.note_followed(kPlace, false);
  EXPECT_EQ(skipped(), 0);
  analyst.note_followed(kPlace, true);
  EXPECT_EQ(skipped(), 1);
}

// Pages of the test that hold the jump back of a loop, as code of `file` from offset 0 on, in each process; the table
// of traps, which the test's "processes" share, is real.
struct KnownLoopsTest : ParkingLotTest {
  static constexpr std::size_t kPage = 4096, kTable = (sizeof(protocol::PatchData) + kPage - 1) & ~(kPage - 1);
  KnownLoopsTest()
      : table(mmap(reinterpret_cast<void*>(protocol::kPatchDataAddress), kTable, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)) {}
  ~KnownLoopsTest() override {
    munmap(table, kTable);
    for (void* const page : pages) munmap(page, kPage);
  }
  std::uint64_t map_file_in(Process& process) {
    void* const page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pages.push_back(page);
    std::memcpy(page, kJump, sizeof kJump);
    process.patches()->patch_file(process.memory(), file, address_of(page), kPage, 0);
    process.known_loops = 0;  // as after ProgramCode::search()
    return address_of(page);
  }
  static bool traps_at(std::uint64_t address) { return *reinterpret_cast<const std::uint8_t*>(address) == 0xf4; }

  static constexpr std::uint8_t kJump[] = {0xeb, 0xfe};
  code::FileCode file;
  void* const table;
  std::vector<void*> pages;
};

TEST_F(KnownLoopsTest, a_loop_in_which_a_process_was_found_to_wait_traps_in_all_that_run_its_code) {
  ASSERT_NE(table, MAP_FAILED);
  Process &first = add_process(), &second = add_process(), &third = add_process();
  const std::uint64_t in_first = map_file_in(first), in_second = map_file_in(second);
  lot.begin_slice(second);
  EXPECT_FALSE(traps_at(in_second)) << "none has waited";
  lot.analyst_of(first).traps().note_poked({in_first, sizeof kJump, std::nullopt});
  lot.begin_slice(second);
  EXPECT_TRUE(traps_at(in_second));
  ASSERT_TRUE(second.patches()->trap_at(in_second));
  EXPECT_EQ(second.patches()->trap_at(in_second)->kind, protocol::DecidedInstruction::kLoopJump);

  lot.begin_slice(third);
  EXPECT_EQ(third.analyst(), nullptr) << "does not run this code";
  const std::uint64_t in_third = map_file_in(third);
  lot.begin_slice(third);
  EXPECT_TRUE(traps_at(in_third)) << "loaded later";

  for (int vain = 0; vain < 4; ++vain) lot.analyst_of(second).traps().note_trapped(in_second, false);
  EXPECT_FALSE(traps_at(in_second));
  second.known_loops = 0;
  lot.begin_slice(second);
  EXPECT_FALSE(traps_at(in_second)) << "it does not wait there";
}

}  // namespace
}  // namespace verbatim::supervisor
