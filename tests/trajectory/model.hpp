#pragma once

#include <cleave/models/gpt.hpp>

namespace trajectory {

/// The reference model (make_reference.py).
inline constexpr cleave::models::gpt::Config config{
    .vocabulary = 256, .context = 64, .layers = 2, .width = 64, .heads = 4};

} // namespace trajectory
