"""Dask: workers that have an image of compiled code before their first task."""

from __future__ import annotations

from typing import Any

from distributed.diagnostics.plugin import WorkerPlugin

from pycompile._image import Image

__all__ = ["PycompilePlugin"]


class PycompilePlugin(WorkerPlugin):
    """`client.register_plugin(PycompilePlugin(image))`: each worker, of now and later, calls the image.

    Where a worker compiles otherwise than the client, `register_plugin` raises JobError.
    """

    name = "pycompile"

    def __init__(self, image: Image) -> None:
        self.image = image

    def setup(self, worker: Any) -> None:
        self.image(worker.address)
