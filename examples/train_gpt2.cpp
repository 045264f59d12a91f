// Trains GPT-2 124M, the same way: mpirun -n 2 build/examples/train_gpt2 --tokens FILE.u16 --steps 100

#include "gpt_training.hpp"

namespace {

constexpr cleave::models::gpt::Config config{
    .vocabulary = 50257, .context = 256, .layers = 12, .width = 768, .heads = 12, .dropout = true};

} // namespace

int main(int argc, char** argv) {
  return examples::train<config>(argc, argv, examples::TrainingOptions{.steps = 100, .batch = 4, .learning_rate = 6e-4,
                                                                     .save = "gpt2.safetensors"});
}
