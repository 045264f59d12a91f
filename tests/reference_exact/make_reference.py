#!/usr/bin/env python3
"""Write the reference trajectories that a sharded run must reproduce.

Runs a single-process, unsharded PyTorch model on the CPU in float64 and stores the initial weights, the tokens and
the gradients of the first step, shared by all cases, and for every case the per-step loss and gradient norm and the
final weights, as safetensors (rounded to float32) and JSON. Needs python3-torch and python3-numpy. Usage: make_reference.py OUT_DIR [SEED]
"""
import json, math, os, struct, sys
import numpy as np
import torch
import torch.nn.functional as F

VOCAB, CONTEXT, LAYERS, HEADS, WIDTH = 256, 64, 2, 4, 64


def save_safetensors(path, tensors, metadata=None):
    """tensors: name -> contiguous float32 torch tensor."""
    header, blob, offset = {}, [], 0
    if metadata:
        header["__metadata__"] = metadata
    for name, t in tensors.items():
        raw = t.detach().to(torch.float32).contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [offset, offset + len(raw)]}
        offset += len(raw)
        blob.append(raw)
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head + b"".join(blob))


def init_gpt(seed, dtype):
    """GPT-2 weights under their Hugging Face names; Conv1D weights are [in, out]."""
    g = torch.Generator().manual_seed(seed)
    normal = lambda *s, std=0.02: (torch.randn(*s, generator=g, dtype=torch.float32) * std).to(dtype)
    w = {"wte.weight": normal(VOCAB, WIDTH), "wpe.weight": normal(CONTEXT, WIDTH, std=0.01)}
    for i in range(LAYERS):
        p = f"h.{i}."
        for ln in ("ln_1", "ln_2"):
            w[p + ln + ".weight"] = 1 + normal(WIDTH, std=0.05)
            w[p + ln + ".bias"] = normal(WIDTH, std=0.05)
        w[p + "attn.c_attn.weight"] = normal(WIDTH, 3 * WIDTH, std=0.08)
        w[p + "attn.c_attn.bias"] = normal(3 * WIDTH)
        w[p + "attn.c_proj.weight"] = normal(WIDTH, WIDTH, std=0.08)
        w[p + "attn.c_proj.bias"] = normal(WIDTH)
        w[p + "mlp.c_fc.weight"] = normal(WIDTH, 4 * WIDTH, std=0.08)
        w[p + "mlp.c_fc.bias"] = normal(4 * WIDTH)
        w[p + "mlp.c_proj.weight"] = normal(4 * WIDTH, WIDTH, std=0.08)
        w[p + "mlp.c_proj.bias"] = normal(WIDTH)
    w["ln_f.weight"] = 1 + normal(WIDTH, std=0.05)
    w["ln_f.bias"] = normal(WIDTH, std=0.05)
    # 1 + a float32 is no float32: without this the run would start from other weights than the file holds
    return {k: v.to(torch.float32).to(dtype) for k, v in w.items()}


def gpt_loss(w, x, y):
    """Mean cross-entropy over the targets that are not -100."""
    b, t = x.shape
    h = w["wte.weight"][x] + w["wpe.weight"][:t]
    mask = torch.full((t, t), float("-inf"), dtype=h.dtype).triu(1)
    for i in range(LAYERS):
        p = f"h.{i}."
        n = F.layer_norm(h, (WIDTH,), w[p + "ln_1.weight"], w[p + "ln_1.bias"], 1e-5)
        q, k, v = (n @ w[p + "attn.c_attn.weight"] + w[p + "attn.c_attn.bias"]).split(WIDTH, 2)
        q, k, v = (z.view(b, t, HEADS, WIDTH // HEADS).transpose(1, 2) for z in (q, k, v))
        a = (q @ k.transpose(-2, -1) / math.sqrt(WIDTH // HEADS) + mask).softmax(-1) @ v
        h = h + a.transpose(1, 2).reshape(b, t, WIDTH) @ w[p + "attn.c_proj.weight"] + w[p + "attn.c_proj.bias"]
        n = F.layer_norm(h, (WIDTH,), w[p + "ln_2.weight"], w[p + "ln_2.bias"], 1e-5)
        u = F.gelu(n @ w[p + "mlp.c_fc.weight"] + w[p + "mlp.c_fc.bias"], approximate="tanh")
        h = h + u @ w[p + "mlp.c_proj.weight"] + w[p + "mlp.c_proj.bias"]
    h = F.layer_norm(h, (WIDTH,), w["ln_f.weight"], w["ln_f.bias"], 1e-5)
    return F.cross_entropy((h @ w["wte.weight"].T).view(-1, VOCAB), y.reshape(-1))


def lr_at(case, step):
    lr, warm, total = case["lr"], case.get("warmup_steps", 0), case["steps"]
    if case.get("schedule", "constant") == "constant":
        return lr
    if step < warm:
        return lr * (step + 1) / warm
    r = (step - warm) / max(1, total - warm)
    return case.get("min_lr", 0.0) + 0.5 * (lr - case.get("min_lr", 0.0)) * (1 + math.cos(math.pi * r))


def run_gpt(out, name, case, seed):
    torch.manual_seed(seed)
    dtype = torch.float64
    w = {k: v.requires_grad_() for k, v in init_gpt(seed, dtype).items()}
    save_safetensors(f"{out}/init.safetensors", w, {"exact": "true"})
    n_tok = max(c["steps"] * c["batch"] for c in CASES.values()) * CONTEXT + 1
    rng = np.random.default_rng(seed)
    # sequence s keeps only its first valid[s] targets in the cases with "ragged": the mean runs over all that are kept
    valid = np.random.default_rng(seed + 1).integers(1, CONTEXT + 1, max(c["steps"] * c["batch"] for c in CASES.values()))
    valid.astype(np.uint16).tofile(f"{out}/valid.u16")
    # a learnable source: a noisy second-order byte pattern, so that the loss falls within a few steps
    t = np.zeros(n_tok, np.int64)
    for i in range(2, n_tok):
        t[i] = (3 * t[i - 1] + t[i - 2] + 7) % 61 + 40 if rng.random() < 0.9 else rng.integers(0, 256)
    t.astype(np.uint16).tofile(f"{out}/tokens.u16")
    decay = [p for p in w.values() if p.dim() >= 2]
    no_decay = [p for p in w.values() if p.dim() < 2]
    if case["optimizer"] == "adamw":
        opt = torch.optim.AdamW([{"params": decay, "weight_decay": case.get("weight_decay", 0.0)},
                                 {"params": no_decay, "weight_decay": 0.0}],
                                lr=case["lr"], betas=tuple(case.get("betas", (0.9, 0.95))), eps=case.get("eps", 1e-8))
    else:
        opt = torch.optim.SGD([{"params": decay, "weight_decay": case.get("weight_decay", 0.0)},
                               {"params": no_decay, "weight_decay": 0.0}],
                              lr=case["lr"], momentum=case.get("momentum", 0.0), nesterov=case.get("nesterov", False))
    log = []
    tok = torch.from_numpy(t)
    for step in range(case["steps"]):
        base = step * case["batch"] * CONTEXT
        x = tok[base:base + case["batch"] * CONTEXT].view(case["batch"], CONTEXT)
        y = tok[base + 1:base + 1 + case["batch"] * CONTEXT].view(case["batch"], CONTEXT)
        if case.get("ragged"):
            keep = torch.from_numpy(valid[step * case["batch"]:(step + 1) * case["batch"]])
            y = y.masked_fill(torch.arange(CONTEXT)[None, :] >= keep[:, None], -100)
        lr = lr_at(case, step)
        for gparam in opt.param_groups:
            gparam["lr"] = lr
        opt.zero_grad()
        loss = gpt_loss(w, x, y)
        loss.backward()
        if step == 0 and not case.get("ragged"):  # the last case to run is ragged: its first batch has other targets
            save_safetensors(f"{out}/grad0.safetensors", {k: v.grad for k, v in w.items()})
        norm = torch.nn.utils.clip_grad_norm_(list(w.values()), case.get("grad_clip", float("inf")))
        opt.step()
        log.append({"step": step, "loss": loss.item(), "grad_norm": norm.item(), "lr": lr})
    save_safetensors(f"{out}/{name}.final.safetensors", w)
    with open(f"{out}/{name}.json", "w") as f:
        json.dump({"model": {"vocab": VOCAB, "context": CONTEXT, "layers": LAYERS, "heads": HEADS, "width": WIDTH},
                   "case": case, "steps": log}, f, indent=1)
    print(name, "loss", log[0]["loss"], "->", log[-1]["loss"], "norm0", log[0]["grad_norm"])


# grad0 is the gradient of the first batch of 8 sequences, before clipping; every case starts from the same weights
CASES = {
    "adamw": dict(optimizer="adamw", lr=1e-3, weight_decay=0.1, steps=20, batch=8),
    "adamw_clip_cosine": dict(optimizer="adamw", lr=3e-3, weight_decay=0.1, grad_clip=0.5, schedule="cosine",
                              warmup_steps=5, min_lr=3e-4, steps=20, batch=8),
    "sgd_nesterov": dict(optimizer="sgd", lr=5e-2, momentum=0.9, nesterov=True, weight_decay=0.01, steps=20, batch=8),
    "adamw_ragged": dict(optimizer="adamw", lr=1e-3, weight_decay=0.1, ragged=True, steps=20, batch=8),
}


def sampler_table(out, rows):
    """Per-rank indices of torch.utils.data.DistributedSampler."""
    from torch.utils.data.distributed import DistributedSampler
    res = []
    for n, world, shuffle, seed, epoch, drop in rows:
        per = []
        for r in range(world):
            s = DistributedSampler(range(n), world, r, shuffle=shuffle, seed=seed, drop_last=drop)
            s.set_epoch(epoch)
            per.append(list(s))
        res.append(dict(size=n, world=world, shuffle=shuffle, seed=seed, epoch=epoch, drop_last=drop, indices=per))
    with open(f"{out}/distributed_sampler.json", "w") as f:
        json.dump(res, f)


if __name__ == "__main__":
    out, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1234
    os.makedirs(out, exist_ok=True)
    for name, case in CASES.items():
        run_gpt(out, name, case, seed)
    sampler_table(out, [(10, 1, False, 0, 0, False), (10, 3, False, 0, 0, False), (10, 3, False, 0, 0, True),
                        (10, 4, True, 0, 0, False), (10, 4, True, 0, 1, False), (17, 2, True, 42, 3, True),
                        (100, 8, True, 7, 2, False), (3, 8, True, 1, 0, False), (3, 8, False, 1, 0, False),
                        (1, 2, True, 0, 0, False), (1000, 2, True, 123456789, 99, False)])
