#pragma once

// The safetensors format (https://github.com/huggingface/safetensors), which Hugging Face tools read and write.
#include <cleave/checkpoint/safetensors_file.hpp>
#include <cleave/checkpoint/safetensors_writer.hpp>
