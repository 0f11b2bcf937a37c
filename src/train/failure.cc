#include "train/failure.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "base/stop_signal.h"
#include "config/fields.h"
#include "nn/torch_message.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// What the main thread does in a phase. A failure of another thread arrives where the main thread
// waits for its work.
std::string_view StageOf(Phase phase) {
  switch (phase) {
    case Phase::kGenerate:
    case Phase::kWaitForRows:
    case Phase::kServe:
      return "generating rows";
    case Phase::kScramble:
    case Phase::kExpand:
    case Phase::kEvaluate:
    case Phase::kBackUp:
    case Phase::kWrite:
    case Phase::kWaitForWorkers:
    case Phase::kWaitForInference:
    case Phase::kWaitForFreeSlot:
      return "evaluating states";
    case Phase::kShuffle:
    case Phase::kGather:
    case Phase::kHostToDevice:
    case Phase::kWaitForRoom:
    case Phase::kWaitForBatch:
      return "making batches";
    case Phase::kDiskLoad:
    case Phase::kWaitForChunk:
    case Phase::kGpuTransfer:
    case Phase::kGpuQueueWait:
      return "reading shards";
    case Phase::kReplay:
      return "drawing from replay";
    case Phase::kForward:
    case Phase::kBackward:
    case Phase::kClipGradients:
    case Phase::kOptimizer:
    case Phase::kWaitForDevice:
    case Phase::kReduce:
      return "training";
    case Phase::kWaitForRanks:
      return "waiting for the other ranks";
    case Phase::kPublish:
      return "refreshing the target network";
    case Phase::kKeepState:
      return "copying the state";
    case Phase::kValidation:
      return "validation";
    case Phase::kCheckpoint:
      return "writing a checkpoint";
    case Phase::kReport:
      return "writing metrics";
    case Phase::kSetUp:
      return "setting up";
    case Phase::kUnnamed:
    case Phase::kIdle:
    case Phase::kCount:
      break;
  }
  return "";
}

}  // namespace

void ThrowWithStage(std::int64_t update, Phase phase) {
  const std::string_view stage = StageOf(phase);
  const auto with_stage = [&](std::string_view cause) {
    return fmt::format("update {}{}{}: {}", update, stage.empty() ? "" : ", ", stage, cause);
  };
  try {
    throw;
  } catch (const Stopped&) {
    throw;
  } catch (const InputError& error) {
    throw InputError(with_stage(error.what()));
  } catch (const c10::Error& error) {
    throw Error(with_stage(MessageFor(error)));
  } catch (const std::bad_alloc&) {
    throw Error(with_stage(fmt::format("out of memory; {}", kToSpareMemory)));
  } catch (const std::exception& error) {
    throw Error(with_stage(error.what()));
  } catch (...) {
    throw Error(with_stage("unknown exception (not derived from std::exception)"));
  }
}

}  // namespace tandem
