#pragma once

#include <cleave/layers/layer.hpp>

namespace cleave {

/// The layers of a ready model, in order; the last may be a loss.
template <typename... Ls>
struct LayerList {};

/// A type that stands for a whole model: it has `Layers`, a LayerList. Each Repeat in it is N units; everything else is
/// the root unit, which stays gathered from the first layer to the last gradient.
template <typename M>
concept composite_model = requires { typename M::Layers; };

} // namespace cleave
