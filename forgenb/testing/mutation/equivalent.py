"""Faults that change no number, with the reason: what the mutation score does not count against the tests.

A row is a statement, as `Fault.rule` names it, with how many of its faults no test can tell from the rule. The number
is exact: one more is a survivor, one less a row that is out of date.

Imports nothing; what a test could reject does not belong here.
"""

from __future__ import annotations

from typing import NamedTuple


class Equivalent(NamedTuple):
    """How many faults of a statement change nothing, and why."""

    faults: int
    reason: str


REASONS: dict[str, dict[str, int]] = {
    "at 0 both branches give the same": {
        "binary_loss.bce_with_logits_grad_kernel: return select(z < 0.0, (1.0 - y) * far - y * near, (1.0 - y) * near - y * far) * (dout * scale)": 1,
    },
    "earlier queries have weights of 0, whose products add nothing": {
        "attention._panel_grad: later = slice(max(keys.start - start, 0), rows)": 1,
    },
    "chosen where nothing is kept, and left out there once more": {
        "cross_entropy.smoothed_grad_kernel: factor = select(kept, dout[0] / total[0], 0.0)": 1,
    },
    "a rule hands over tensors, all of the dtype that is computed in": {
        "cross_entropy.cross_entropy_grad: lse, dout, *counted = (row_major(copied(t, source.dtype) if t.dtype is not source.dtype else widened(t), shape) for t, shape in zip(rest, ((rows,), (1,), (1,)), strict=False))": 5,
        "cross_entropy.cross_entropy_grad: logits = as_tensor(logits, targets) if isinstance(targets, Tensor) else logits": 5,
    },
    "both kernels give the same numbers": {
        "cross_entropy.cross_entropy_grad: if total is None and label_smoothing == 0 and (ignore_index is None):": 7,
    },
    "the kernel takes its sizes from the launch": {
        "conv._by_input: fold(row_major(cols, (count * c * window.taps, *places)), window, (places[0], places[1]), target)": 7,
    },
    "an element that is written twice gets the same number": {
        "batchnorm.norm_grad_kernel: for i in range(part * block, min(part * block + block, x.shape[0])):": 2,
    },
    "a product of both operands, which may change places": {
        "pointwise.square_grad.backward: return (square_grad(dout, g), square_grad(x, g))": 2,
        "pointwise.square.backward: return (square_grad(x, dout),)": 1,
        "pointwise.square_grad: x, dout = as_floats(x, dout)": 1,
    },
    "equal operands were sorted out before": {
        "comparison.maximum_grad_kernel: return select(x == y, 0.5 * dout, select(x < y, 0.0, dout))": 1,
    },
    "the op has checked that its operands agree in this": {
        "softmax.softmax_grad: dx = empty(y.shape, operands[0].dtype, y.backend)": 1,
        "softmax.softmax_grad: rows, n, queries = _rows('softmax_grad', y, causal, off)": 1,
        "batchnorm._gradients: mean, var = (copied(t, x.dtype) if t.dtype is not x.dtype else t for t in (mean, var))": 4,
        "batchnorm._gradients: dtype = operands[0].dtype": 1,
        "binary_loss.bce_with_logits_grad: share = 1.0 / max(logits.size, 1)": 1,
        "log_softmax.log_softmax_grad: dx = empty(y.shape, operands[0].dtype, y.backend)": 1,
    },
    "bools and whole numbers count as floats there": {
        "extrema._differentiable.backward: ties = sum_(astype(chosen, dout.dtype), axis=axes, keepdims=True)": 1,
        "cross_entropy._wanted_by: onehot = astype(equal(reshape(targets, (*x.shape[:-1], 1)), classes), x.dtype)": 1,
    },
    "arrays become tensors of the default backend, which is that of the tests": {
        "cross_entropy._wanted_by: classes = tensor(np.arange(x.shape[-1]), backend=x.backend.name)": 2,
    },
    "what is changed is multiplied by 0": {
        "statistics._per_root: return where(equal(root, 0.0), 0.0, div(dout, root))": 1,
        "power.pow_number_grad.backward: steeper = n - 1.0 if n else 0.0": 1,
    },
    "so far out the slope is 0 or 1 to the last bit": {
        "error_function.gelu_erf_grad_kernel: y = select(x < -40.0, -40.0, select(x > 40.0, 40.0, x))": 6,
        "gelu.gelu_grad_kernel: return dout * select(near, slope, select(x < 0.0, 0.0, select(x > 0.0, 1.0, x)))": 4,
        "gelu.gelu_grad_kernel: y = select(near, x, 0.0)": 1,
        "gelu.gelu_grad_kernel: near = absolute(x) < 30.0": 2,
        "gelu._curvature: x = clip(x, -30.0, 30.0)": 3,
        "rectifiers.silu_grad_kernel: y = select(x < -746.0, -746.0, select(x > 746.0, 746.0, x))": 6,
    },
    "how the work is cut into pieces, and scratch, change no number": {
        "batchnorm._gradients: halves = (partial.view((parts,), (1,), half * parts) for half in (0, 1))": 1,
        "batchnorm._gradients: partial = empty((2, parts), x.dtype, x.backend)": 1,
        "conv._by_input: for first, count in _groups(n, c * window.taps * spots):": 4,
        "conv._by_weight: for first, count in _groups(n, c * window.taps * max(spots, each)):": 5,
        "cross_entropy.cross_entropy_grad: total = counted[0] if counted else full((1,), rows, source.dtype, logits.backend)": 3,
        "layernorm.layernorm_grad: partial = empty((2, parts, n), source.dtype, x.backend)": 1,
        "layernorm.layernorm_grad: parts = max(1, -(-rows // ROWS))": 2,
        "groupnorm.groupnorm_grad: sums = sum_middle(partial, 2, n, c) if n else zeros((2, c), source.dtype, x.backend)": 1,
        "groupnorm.groupnorm_grad: dx, partial = (empty(x.shape, source.dtype, x.backend), empty((2, n, c), source.dtype, x.backend))": 1,
        "pooling._to_chosen: across = max(1, -(-window.kernel[0] // window.stride[0]) * -(-window.kernel[1] // window.stride[1]))": 13,
        "rmsnorm.rmsnorm_grad: parts = max(1, -(-rows // ROWS))": 2,
    },
    "windows that are looked at in vain chose another element": {
        "pooling.max_pool_grad_kernel: for j in range(max(0, (c + pw - kw) // sw + 1), min(dout.shape[2], (c + pw) // sw + 1)):": 10,
        "pooling.max_pool_grad_kernel: for i in range(max(0, (r + ph - kh) // sh + 1), min(dout.shape[1], (r + ph) // sh + 1)):": 12,
    },
    "the last axis of a matrix is axis 1": {
        "recurrent.lstm_cell_grad.steps: return (concat(*parts, axis=-1), d * f)": 1,
        "recurrent.lstm_cell_grad.steps: gi, gf, gg, go = split(gates, 4, -1)": 1,
        "recurrent.gru_cell_grad.steps: return (concat(dr, dz, dn, axis=-1), concat(dr, dz, dn * r, axis=-1), dnext_h * z)": 2,
        "recurrent.gru_cell_grad.steps: (gr, gz, gn), (hr, hz, hn) = (split(gates, 3, -1), split(hidden, 3, -1))": 2,
    },
    "any multiple of 0 is 0": {
        "products.prod.backward: return (zeros(before, dtype, backend),)": 3,
        "rounding.sign.backward: return (zeros(shape, dtype, backend),)": 3,
        "rounding.floor.backward: return (zeros(shape, dtype, backend),)": 3,
    },
    "compiled kernels refuse float16, which the kit finds on the backend cpu": {
        "pooling._to_chosen: source = widened(dout.detach())": 1,
    },
    "a constant has no derivative, and the steps give nothing else": {
        "cross_entropy.cross_entropy_grad.steps: return where(not_equal(reshape(targets, (*x.shape[:-1], 1)), ignore_index), dx, 0.0)": 1,
    },
    "a loss has a cotangent of one number, whose memory holds nothing else": {
        "binary_loss.bce_with_logits_grad: operands = (logits.detach(), targets.detach(), row_major(dout, ()))": 1,
        "binary_loss.bce_with_logits_grad.steps: return (sigmoid(logits) - targets) * (reshape(dout, ()) * share)": 1,
        "class_losses._nll_grad: operands = (targets, row_major(total, (1,)), row_major(slope, (1,)), dx)": 4,
        "cross_entropy.cross_entropy_grad.steps: dx = (exp_(x - reshape(lse, (*x.shape[:-1], 1))) - wanted) * (reshape(dout, ()) / total)": 1,
    },
    "masked weights are 0 already": {
        "attention._grad_steps: dscores = softmax_grad(weights, drop(matmul(dy, v, trans_b=True)), causal=True)": 2,
    },
    "both ways give the product: over all rows at once, or summed over the batch": {
        "matmul.product_gradient: flat = _flattened(a, b, swap, trans_a, trans_b, alpha)": 2,
        "matmul.product_gradient: if len(shape) == 2 and (a.ndim > 2 or b.ndim > 2):": 8,
        "matmul._flattened: if not (trans_a and (not trans_b) and (a.shape[:-1] == b.shape[:-1]) and a.contiguous and b.contiguous):": 8,
    },
    "only a refusal looks at it": {
        "conv.conv2d_input_grad: size = both('conv2d_input_grad', 'size', size, 1)": 1,
        "conv.conv2d_weight_grad: name, o = ('conv2d_weight_grad', dout.shape[1] if dout.ndim == 4 else 0)": 4,
        "pooling.avg_pool2d_grad: h, w = both('avg_pool2d_grad', 'size', size, 1)": 1,
    },
    "a view that reaches further than what is read of it": {
        "groupnorm.groupnorm_grad_kernel: target, scale = (dx[row, k * s:(k + 1) * s], gamma[first + k])": 1,
        "groupnorm.groupnorm_grad_kernel: source, slope = (x[row, k * s:(k + 1) * s], dout[row, k * s:(k + 1) * s])": 4,
        "recurrent.lstm_cell_grad_kernel: di, df, dg, do = (dgates[row, :n], dgates[row, n:2 * n], dgates[row, 2 * n:3 * n], dgates[row, 3 * n:])": 2,
        "recurrent.lstm_cell_grad_kernel: gi, gf, gg, go = (gates[row, :n], gates[row, n:2 * n], gates[row, 2 * n:3 * n], gates[row, 3 * n:])": 2,
        "recurrent.gru_cell_grad_kernel: hr, hz, hn = (hidden[row, :n], hidden[row, n:2 * n], hidden[row, 2 * n:])": 1,
        "recurrent.gru_cell_grad_kernel: gr, gz, gn = (gates[row, :n], gates[row, n:2 * n], gates[row, 2 * n:])": 1,
    },
    "the sum in new memory": {
        "conv._by_weight: total = found if total is None else run_map(add_kernel, (total, found), into=(total,))": 1,
    },
    "not chosen where x is above 0": {
        "rectifiers.elu_grad.backward: curved = scale(mul(mul(g, dout), exp(minimum(x, 0.0))), alpha)": 2,
    },
    "a channel has at least two elements": {
        "batchnorm.batchnorm_grad: share = 0.0 if fixed else 1.0 / max(1, x.shape[0] * count(x.shape[2:]))": 1,
    },
}
"""Why nothing changes -> statement -> how many of its faults."""

EQUIVALENT = {rule: Equivalent(faults, reason) for reason, rules in REASONS.items() for rule, faults in rules.items()}
