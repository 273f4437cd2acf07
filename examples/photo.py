"""Tone mapping and sharpening of a photograph (the one of a Chinese temple that scikit-learn ships)."""

import numpy as np
from sklearn.datasets import load_sample_image
from timing import measure, plain_of

import pycompile


@pycompile.compile
def tone_map(image, exposure, white, saturation):
    """Extended Reinhard tone mapping of an 8-bit sRGB image, done in linear light."""
    encoded = image.astype(np.float32) / np.float32(255)
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    linear = linear * exposure
    red, green, blue = linear[..., 0], linear[..., 1], linear[..., 2]
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    mapped = luminance * (1 + luminance / white**2) / (1 + luminance)
    ratio = mapped / np.maximum(luminance, 1e-6)
    colour = linear * ratio[..., None]
    colour = mapped[..., None] + saturation * (colour - mapped[..., None])
    colour = np.clip(colour, 0, 1)
    encoded = np.where(colour <= 0.0031308, colour * 12.92, 1.055 * colour ** (1 / 2.4) - 0.055)
    return (encoded * 255 + 0.5).astype(np.uint8)


@pycompile.compile
def sharpen(image, amount):
    """Unsharp mask: the image plus what a 3 x 3 binomial blur takes away.  The rim stays as it is."""
    pixels = image.astype(np.float32)
    rows = (pixels[:-2] + 2 * pixels[1:-1] + pixels[2:]) / 4
    blurred = (rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:]) / 4
    result = pixels.copy()
    result[1:-1, 1:-1] += amount * (pixels[1:-1, 1:-1] - blurred)
    return np.clip(np.rint(result), 0, 255).astype(np.uint8)


def load():
    return load_sample_image("china.jpg")


def main(out=None):
    image = load()
    agree = measure("photo: tone mapping", tone_map, image, 2.0, 1.5, 1.2)
    toned = plain_of(tone_map)(image, 2.0, 1.5, 1.2)
    agree &= measure("photo: sharpening", sharpen, toned, 1.5)
    if out is not None:
        from matplotlib import image as pictures

        pictures.imsave(out / "photo_before.png", image)
        pictures.imsave(out / "photo_after.png", sharpen(tone_map(image, 2.0, 1.5, 1.2), 1.5))
    return agree


FUNCTIONS = {
    "tone_map": (tone_map, lambda: (load(), 2.0, 1.5, 1.2)),
    "sharpen": (sharpen, lambda: (load(), 1.5)),
}

if __name__ == "__main__":
    main()
