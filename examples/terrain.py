"""Hill shading of the elevation grid of the Jacksboro fault that matplotlib ships."""

import numpy as np
from matplotlib import cbook
from timing import measure

import pycompile


@pycompile.compile
def hill_shade(elevation, dx, dy, azimuth, altitude, exaggeration):
    """Brightness of each cell in the light of a sun at (azimuth, altitude), by Horn's slopes."""
    z = elevation * exaggeration
    north, south = z[:-2], z[2:]
    east_side = z[:-2, 2:] + 2 * z[1:-1, 2:] + z[2:, 2:]
    west_side = z[:-2, :-2] + 2 * z[1:-1, :-2] + z[2:, :-2]
    south_side = south[:, :-2] + 2 * south[:, 1:-1] + south[:, 2:]
    north_side = north[:, :-2] + 2 * north[:, 1:-1] + north[:, 2:]
    slope_x = (east_side - west_side) / (8 * dx)
    slope_y = (south_side - north_side) / (8 * dy)
    slope = np.arctan(np.sqrt(slope_x**2 + slope_y**2))
    aspect = np.arctan2(slope_y, -slope_x)
    zenith = np.radians(90 - altitude)
    direction = np.radians(360 - azimuth + 90)
    shade = np.cos(zenith) * np.cos(slope)
    shade += np.sin(zenith) * np.sin(slope) * np.cos(direction - aspect)
    return np.maximum(shade, 0)


@pycompile.compile
def blend(shade, elevation, low, high):
    """Soft-light blend of a shaded relief with a height tint from green to brown to white."""
    inner = elevation[1:-1, 1:-1]
    height = (inner - inner.min()) / (inner.max() - inner.min())
    tint = low + height[..., None] * (high - low)
    light = shade[..., None]
    soft = np.where(
        light <= 0.5,
        tint - (1 - 2 * light) * tint * (1 - tint),
        tint + (2 * light - 1) * (np.sqrt(tint) - tint),
    )
    return np.clip(soft, 0, 1)


LOW = np.array([0.30, 0.45, 0.25])
HIGH = np.array([0.95, 0.92, 0.88])


def load():
    with cbook.get_sample_data("jacksboro_fault_dem.npz") as data:
        elevation = data["elevation"].astype(np.float64)
        latitude = np.radians(0.5 * (float(data["ymin"]) + float(data["ymax"])))
        dx = 111200 * float(data["dx"]) * np.cos(latitude)
        dy = 111200 * float(data["dy"])
    return elevation, float(dx), dy


def main(out=None):
    elevation, dx, dy = load()
    agree = measure("terrain: hill shading", hill_shade, elevation, dx, dy, 315.0, 45.0, 2.0)
    shade = hill_shade(elevation, dx, dy, 315.0, 45.0, 2.0)
    agree &= measure("terrain: blending", blend, shade, elevation, LOW, HIGH)
    if out is not None:
        from matplotlib import image as pictures

        pictures.imsave(out / "terrain.png", blend(shade, elevation, LOW, HIGH))
    return agree


FUNCTIONS = {
    "hill_shade": (hill_shade, lambda: (*load(), 315.0, 45.0, 2.0)),
    "blend": (blend, lambda: (load()[0][1:-1, 1:-1] % 1, load()[0], LOW, HIGH)),
}

if __name__ == "__main__":
    main()
