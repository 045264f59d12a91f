// Trains a byte-level GPT on text, on as many processes as mpirun starts: ./run train --help

#include "gpt_training.hpp"

namespace {

// nanoGPT's small model: 0.8 million parameters, minutes on two cores.
constexpr cleave::models::gpt::Config config{
    .vocabulary = 256, .context = 64, .layers = 4, .width = 128, .heads = 4, .dropout = true};

} // namespace

int main(int argc, char** argv) {
  return examples::train<config>(
      argc, argv,
      examples::TrainingOptions{.steps = 2000, .batch = 12, .learning_rate = 2e-3, .save = "gpt.safetensors"});
}
