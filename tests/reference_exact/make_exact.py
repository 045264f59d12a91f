#!/usr/bin/env python3
"""Write the reference trajectories again, begun from exactly the stored weights. Usage: make_exact.py OUT_DIR [SEED]

Runs ../reference/make_reference.py with two changes; the README says why. Needs python3-torch and python3-numpy.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'reference'))
import make_reference as reference
import torch

init_gpt, save_safetensors = reference.init_gpt, reference.save_safetensors
out, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1234
os.makedirs(out, exist_ok=True)


def init_rounded(seed, dtype):
    """1 + a float32 is no float32: round before the run, not only in the file."""
    return {name: w.to(torch.float32).to(dtype) for name, w in init_gpt(seed, dtype).items()}


for name, case in reference.CASES.items():

    def save(path, tensors, metadata=None):
        """Says that init is exact; keeps the ragged case, which has other targets, from replacing grad0."""
        if case.get('ragged') and os.path.basename(path) == 'grad0.safetensors':
            return
        exact = os.path.basename(path) == 'init.safetensors'
        save_safetensors(path, tensors, {'exact': 'true'} if exact else metadata)

    reference.init_gpt, reference.save_safetensors = init_rounded, save
    reference.run_gpt(out, name, case, seed)
