// States of the threads at the end of a run that hangs, and while a debugger holds a program.
#include <algorithm>
#include <utility>

#include "sim/core/time_text.h"
#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/hang_causes.h"
#include "sim/supervisor/machine/code_place.h"
#include "sim/supervisor/spec/held_run.h"
#include "sim/supervisor/supervisor_impl.h"
#include "sim/supervisor/wait_graph.h"

namespace verbatim::supervisor {

namespace {

// " 3", "s 3 and 4", "s 3, 4 and 5".
std::string numbers_of(std::vector<PolledQueue> queues) {
  std::ranges::sort(queues, {}, [](const PolledQueue& queue) { return std::pair(queue.context, queue.number); });
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

std::vector<BlockedThread> Supervisor::Impl::blocked_threads(bool for_ever) {
  std::vector<BlockedThread> all;
  const HangCauses causes(processes_, options_);
  for (const auto& process : processes_) {
    if (!process->alive) continue;
    const std::string name = title(*process);
    if (process->stopped_by != 0) {
      const std::string wait = fmt::format("is stopped by signal {}, and no process sends it SIGCONT", process->stopped_by);
      all.push_back({process->pid(), name, name, wait, wait, WaitCause::kOwn, {}, {}});
      continue;
    }
    for (const auto& thread : process->threads()) {
      // `end`: text after the place if nothing will end the wait.
      const auto add = [&](const std::string& wait, Instant since, WaitReason reason, const char* end = "") {
        all.push_back({process->pid(), name, fmt::format("{}, thread {}", name, thread->tid()),
                       wait + " since " + time_text(since) + reason.text(for_ever ? end : ""), std::move(reason.explanation), reason.cause,
                       std::move(reason.waits_for), since});
      };
      if (const Parked* parked = thread->parked()) {
        const bool polls = parked->kind == Parked::Kind::kPoll;
        if (polls && !parked->queues.empty()) {
          add("polls completion queue" + numbers_of(parked->queues), parked->since, causes.of_polls(*thread, parked->queues),
              parked->queues.size() == 1 ? ", and nothing can fill it any more" : ", and nothing can fill them any more");
        } else {
          add(fmt::format("spins{} on memory at {:#x}", place_of_spin(*process, *parked), parked->awaited), parked->since,
              polls ? causes.of_polls(*thread, parked->queues) : WaitReason(), ", and nothing can change it any more");
        }
      } else if (thread->state() == Thread::State::kBlocked) {
        add("waits in " + thread->waits_for(), thread->blocked_since(), causes.of_sleep(*thread));
      } else if (thread->state() == Thread::State::kPending && thread->call().request == protocol::Request::kPoll) {
        const auto& a = thread->call().arguments;
        const PolledQueue polled{static_cast<std::uint32_t>(a[1]), static_cast<std::uint32_t>(a[2])};
        const bool yields = (thread->call().number & protocol::kYields) != 0;
        const WaitReason reason = causes.of_polls(*thread, {&polled, 1});
        const std::string wait = yields ? "yields" : fmt::format("polls completion queue {}", a[2]);
        all.push_back({process->pid(), name, fmt::format("{}, thread {}", name, thread->tid()),
                       wait + " at " + time_text(engine_.now()) + reason.text(""), reason.explanation, reason.cause, reason.waits_for,
                       engine_.now()});
      }
    }
  }
  return all;
}

std::vector<std::string> Supervisor::Impl::waits(bool for_ever) {
  std::vector<std::string> all;
  for (const BlockedThread& thread : blocked_threads(for_ever)) all.push_back(thread.sentence());
  return all;
}

void Supervisor::Impl::list_waits(bool for_ever) {
  const std::vector<BlockedThread> threads = blocked_threads(for_ever);
  for (const BlockedThread& thread : threads) result_.findings.push_back(thread.sentence());
  result_.hang_cause = cause_of_hang(threads, for_ever);
}

class Supervisor::Impl::Held final : public HeldRun {
 public:
  Held(Impl& impl, Process& process) : impl_(impl), process_(process) {}

  std::string holder() const override {
    return impl_.running_ == nullptr ? impl_.title(process_)
                                     : fmt::format("{}, thread {}", impl_.title(process_), impl_.running_->tid());
  }

  Instant now() const override {
    // A program that has just started has no clock of its own yet.
    if (impl_.running_ == nullptr) return fabric_now();
    const protocol::ThreadSlot& slot = process_.region().slot(impl_.running_->slot());
    return std::max(instant_from_ps(slot.clock_ps), fabric_now());
  }

  Instant fabric_now() const override { return impl_.engine_.now(); }

  std::vector<std::string> waits() override { return impl_.waits(false); }

  std::vector<Queues> queues() override {
    std::vector<Queues> all;
    for (const auto& process : impl_.processes_) {
      if (!process->alive) continue;
      for (const auto& context : process->contexts()) {
        if (!context->open() || context->owner() != process->pid()) continue;
        all.push_back({impl_.title(*process), context->hca().inspect(context->handle())});
      }
    }
    return all;
  }

 private:
  Impl& impl_;
  Process& process_;
};

bool Supervisor::Impl::report_holding(Process& process) {
  Held held(*this, process);
  return options_.while_held(held);
}

}  // namespace verbatim::supervisor
