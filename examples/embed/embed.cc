// A program that trains its own network.
//
//     embed CONFIG FOLDER
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <config/load.h>
#include <nn/network.h>
#include <tandem/error.h>
#include <train/training.h>

#include <iostream>

namespace {

// A network with one hidden layer of `network.width` units. A config selects it with
// `network.kind: perceptron`.
class Perceptron final : public tandem::Network {
 public:
  Perceptron(const tandem::NetworkSpec& spec, std::uint64_t seed) : Network(spec) {
    at::Generator random = tandem::InitialWeights(seed);
    hidden_ = AddLayer("hidden", spec.features(), spec.layers.width, random);
    output_ = AddLayer("output", spec.layers.width, spec.outputs, random);
  }

  at::Tensor Forward(const at::Tensor& features) override {
    return at::linear(at::relu(at::linear(features, hidden_.weight, hidden_.bias)), output_.weight,
                      output_.bias);
  }

 private:
  struct Layer {
    at::Tensor weight, bias;
  };

  Layer AddLayer(const std::string& name, std::int64_t inputs, std::int64_t outputs,
                 at::Generator& random) {
    Layer layer{.weight = RegisterParameter(name + "_weight", at::empty({outputs, inputs})),
                .bias = RegisterParameter(name + "_bias", at::empty({outputs}))};
    tandem::DrawWeights(layer.weight, layer.bias, inputs, random);
    return layer;
  }

  Layer hidden_, output_;
};

TANDEM_REGISTER_NETWORK(perceptron,
                        {.make = [](const tandem::NetworkSpec& spec, std::uint64_t seed) {
                          return std::make_unique<Perceptron>(spec, seed);
                        }});

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: embed CONFIG FOLDER\n";
    return 2;
  }
  try {
    tandem::Training training(tandem::LoadConfig(argv[1]), argv[2]);
    while (training.RunUpdate()) {
    }
    const tandem::TrainingResult result = training.Finish();
    std::cout << result.updates << " updates, " << result.examples << " examples, loss "
              << result.final_loss << "\nsolves " << 100 * result.solve_rate.value_or(0)
              << " % of the validation states\n";
  } catch (const tandem::InputError& error) {
    std::cerr << error.what() << "\n";
    return 2;
  } catch (const tandem::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
