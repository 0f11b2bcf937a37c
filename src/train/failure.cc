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

// What the main thread does in an activity. A failure of another thread arrives where the main
// thread waits for its work.
std::string_view StageOf(Activity activity) {
  switch (activity) {
    case Activity::kGenerate:
    case Activity::kWaitForRows:
    case Activity::kServe:
      return "generating rows";
    case Activity::kScramble:
    case Activity::kExpand:
    case Activity::kEvaluate:
    case Activity::kBackUp:
    case Activity::kWrite:
    case Activity::kWaitForWorkers:
    case Activity::kWaitForInference:
    case Activity::kWaitForFreeSlot:
      return "evaluating states";
    case Activity::kShuffle:
    case Activity::kGather:
    case Activity::kHostToDevice:
    case Activity::kWaitForRoom:
    case Activity::kWaitForBatch:
      return "making batches";
    case Activity::kDiskLoad:
    case Activity::kWaitForChunk:
    case Activity::kGpuTransfer:
    case Activity::kGpuQueueWait:
      return "reading shards";
    case Activity::kReplay:
      return "drawing from replay";
    case Activity::kForward:
    case Activity::kBackward:
    case Activity::kClipGradients:
    case Activity::kOptimizer:
    case Activity::kWaitForDevice:
    case Activity::kReduce:
      return "training";
    case Activity::kWaitForRanks:
      return "waiting for the other ranks";
    case Activity::kRefreshTarget:
      return "refreshing the target network";
    case Activity::kPublish:
      return "publishing the weights";
    case Activity::kKeepState:
      return "copying the state";
    case Activity::kValidation:
      return "validation";
    case Activity::kCheckpoint:
      return "writing a checkpoint";
    case Activity::kReport:
      return "writing metrics";
    case Activity::kSetUp:
      return "setting up";
    case Activity::kUnnamed:
    case Activity::kIdle:
    case Activity::kCount:
      break;
  }
  return "";
}

}  // namespace

void ThrowWithStage(std::int64_t update, Activity activity) {
  const std::string_view stage = StageOf(activity);
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
