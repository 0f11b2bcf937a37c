// The functions that the program calls in this library.
#include "apps/torch_library.h"

extern "C" const tandem::TorchLibrary& tandem::tandem_torch_library() {
  static constexpr TorchLibrary kFunctions = {.run_train = RunTrain,
                                              .run_solve = RunSolve,
                                              .run_evaluate = RunEvaluate,
                                              .with_labelling_network = WithLabellingNetwork,
                                              .open_hint_provider = OpenHintProvider};
  return kFunctions;
}
