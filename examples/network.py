"""A small neural network, gradients written by hand, trained on scikit-learn's handwritten digits."""

import numpy as np
from sklearn.datasets import load_digits
from timing import measure

import pycompile


@pycompile.compile
def train_step(x, wanted, w1, b1, w2, b2, rate):
    """One step of gradient descent: tanh layer, softmax, cross-entropy.  Updates the weights in place."""
    hidden = np.tanh(x @ w1 + b1)
    scores = hidden @ w2 + b2
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances = shifted / shifted.sum(axis=1, keepdims=True)
    loss = -(wanted * np.log(chances + 1e-12)).sum() / len(x)
    error = (chances - wanted) / len(x)
    back = (error @ w2.T) * (1 - hidden * hidden)
    w2 -= rate * (hidden.T @ error)
    b2 -= rate * error.sum(axis=0)
    w1 -= rate * (x.T @ back)
    b1 -= rate * back.sum(axis=0)
    return loss


@pycompile.compile
def predict(x, w1, b1, w2, b2):
    return (np.tanh(x @ w1 + b1) @ w2 + b2).argmax(axis=1)


def load():
    """Pixels from 0 to 1, the digits as rows of zeros with a one, the digits."""
    digits = load_digits()
    return digits.data / 16, np.eye(10)[digits.target], digits.target


def weights(hidden=64):
    random = np.random.default_rng(0)
    w1 = random.normal(0, 1 / 8, (64, hidden))
    w2 = random.normal(0, 1 / np.sqrt(hidden), (hidden, 10))
    return w1, np.zeros(hidden), w2, np.zeros(10)


def main(out=None):
    x, wanted, digit = load()
    x, wanted, test, test_digit = x[:1400], wanted[:1400], x[1400:], digit[1400:]
    agree = measure("network: training step", train_step, x, wanted, *weights(), 0.5)
    network = weights()
    losses = [train_step(x, wanted, *network, 0.5) for _ in range(200)]
    agree &= measure("network: prediction", predict, test, *network)
    right = (predict(test, *network) == test_digit).mean()
    print(f"{'':<34} loss {losses[0]:.3f} -> {losses[-1]:.3f}, {right:.1%} of unseen digits right")
    if out is not None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(8, 3), layout="constrained")
        left, centre = figure.subplots(1, 2)
        left.semilogy(losses)
        left.set_xlabel("step")
        left.set_ylabel("loss")
        tiles = network[0].reshape(8, 8, 8, 8).transpose(2, 0, 3, 1).reshape(64, 64)
        centre.imshow(tiles, cmap="RdBu")
        centre.set_title("weights of the first layer")
        figure.savefig(out / "network.png", dpi=100)
    return agree


def _step_arguments():
    x, wanted, _ = load()
    return (x, wanted, *weights(), 0.5)


FUNCTIONS = {
    "train_step": (train_step, _step_arguments),
    "predict": (predict, lambda: (load()[0], *weights())),
}

if __name__ == "__main__":
    main()
