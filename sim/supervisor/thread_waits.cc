#include "sim/supervisor/thread_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/core/time_text.h"
#include "sim/hca/inspector.h"
#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/hang_causes.h"
#include "sim/supervisor/machine/code_place.h"
#include "sim/supervisor/process_list.h"
#include "sim/supervisor/run_report.h"
#include "sim/supervisor/spec/held_run.h"
#include "sim/supervisor/tasks/parking.h"
#include "sim/supervisor/wait_graph.h"

namespace verbatim::supervisor {

namespace {

// " 3", "s 3 and 4", "s 3, 4 and 5".
std::string numbers_of(std::vector<PolledQueue> queues) {
  std::ranges::sort(queues, {},
                    [](const PolledQueue& queue) { return std::pair(queue.context, queue.number); });
  std::string text = queues.size() > 1 ? "s" : "";
  for (std::size_t i = 0; i < queues.size(); ++i) {
    text += i == 0 ? " " : i + 1 == queues.size() ? " and " : ", ";
    text += std::to_string(queues[i].number);
  }
  return text;
}

// " at app.c:88": the loop in which a thread spins.
std::string place_of_spin(const Process& process, const Parked& parked) {
  return " at " + place_of_call(process.native_pid(), parked.code + 1);
}

}  // namespace

std::vector<BlockedThread> ThreadWaits::blocked_threads(bool for_ever) const {
  std::vector<BlockedThread> all;
  const HangCauses causes(processes_.all(), run_.options);
  for (const auto& process : processes_.all()) {
    if (!process->alive) continue;
    const std::string name = report_.title(*process);
    if (process->stopped_by != 0) {
      const std::string wait =
          fmt::format("is stopped by signal {}, and no process sends it SIGCONT", process->stopped_by);
      all.push_back({process->pid(), name, name, wait, wait, WaitCause::kOwn, {}, {}});
      continue;
    }
    for (const auto& thread : process->threads()) {
      // `end`: text after the place if nothing will end the wait.
      const auto add = [&](const std::string& wait, Instant since, WaitReason reason, const char* end = "") {
        all.push_back({process->pid(), name, fmt::format("{}, thread {}", name, thread->tid()),
                       wait + " since " + time_text(since) + reason.text(for_ever ? end : ""),
                       std::move(reason.explanation), reason.cause, std::move(reason.waits_for), since});
      };
      if (const Parked* parked = thread->parking.loop()) {
        const bool polls = parked->kind == Parked::Kind::kPoll;
        if (polls && !parked->queues.empty()) {
          add("polls completion queue" + numbers_of(parked->queues), parked->since,
              causes.of_polls(*thread, parked->queues),
              parked->queues.size() == 1 ? ", and nothing can fill it any more"
                                         : ", and nothing can fill them any more");
        } else {
          add(fmt::format("spins{} on memory at {:#x}", place_of_spin(*process, *parked), parked->awaited),
              parked->since, polls ? causes.of_polls(*thread, parked->queues) : WaitReason(),
              ", and nothing can change it any more");
        }
      } else if (thread->state() == Thread::State::kBlocked) {
        add("waits in " + thread->wait.what(), thread->wait.since(), causes.of_sleep(*thread));
      } else if (const auto* poll = std::get_if<request::Poll>(&thread->request());
                 poll != nullptr && thread->state() == Thread::State::kPending) {
        const PolledQueue polled = poll->seen.queue;
        const WaitReason reason = causes.of_polls(*thread, {&polled, 1});
        const std::string wait =
            poll->seen.yields ? "yields" : fmt::format("polls completion queue {}", polled.number);
        all.push_back({process->pid(), name, fmt::format("{}, thread {}", name, thread->tid()),
                       wait + " at " + time_text(run_.engine.now()) + reason.text(""), reason.explanation,
                       reason.cause, reason.waits_for, run_.engine.now()});
      } else if (thread->state() == Thread::State::kPending && thread->next_event_time() > run_.engine.now() &&
                 thread->next_event_time() != kNever) {
        // It has waited and run in one slice, so the last of its waits is not known.
        const std::string wait = "runs at " + time_text(thread->next_event_time());
        all.push_back({process->pid(), name, fmt::format("{}, thread {}", name, thread->tid()), wait, wait, WaitCause::kUnfinished, {},
                       run_.engine.now()});
      }
    }
  }
  return all;
}

std::vector<std::string> ThreadWaits::sentences(bool for_ever) const {
  std::vector<std::string> all;
  for (const BlockedThread& thread : blocked_threads(for_ever)) all.push_back(thread.sentence());
  return all;
}

void ThreadWaits::report(bool for_ever) {
  const std::vector<BlockedThread> threads = blocked_threads(for_ever);
  RunResult& result = report_.result();
  for (const BlockedThread& thread : threads) result.findings.push_back(thread.sentence());
  result.hang_cause = cause_of_hang(threads, for_ever);
}

class ThreadWaits::Held final : public HeldRun {
 public:
  Held(const ThreadWaits& waits, Process& process, Thread* holder)
      : waits_(waits), process_(process), holder_(holder) {}

  std::string holder() const override {
    const std::string title = waits_.report_.title(process_);
    return holder_ == nullptr ? title : fmt::format("{}, thread {}", title, holder_->tid());
  }

  Instant now() const override {
    // A program that has just started has no clock of its own yet.
    if (holder_ == nullptr) return fabric_now();
    const protocol::ThreadSlot& slot = process_.region().slot(holder_->slot());
    return std::max(instant_from_ps(slot.clock_ps), fabric_now());
  }

  Instant fabric_now() const override { return waits_.run_.engine.now(); }

  std::vector<std::string> waits() override { return waits_.sentences(false); }

  std::vector<Queues> queues() override {
    std::vector<Queues> all;
    for (const auto& process : waits_.processes_.all()) {
      if (!process->alive) continue;
      for (DeviceContext* const context : process->devices().own()) {
        all.push_back({waits_.report_.title(*process), context->hca().inspector().inspect(context->handle())});
      }
    }
    return all;
  }

 private:
  const ThreadWaits& waits_;
  Process& process_;
  Thread* const holder_;
};

bool ThreadWaits::report_holding(Process& process, Thread* holder) {
  Held held(*this, process, holder);
  return run_.options.while_held(held);
}

}  // namespace verbatim::supervisor
