"""Collectives within plans, of two processes with a device each: ranks.py has what they do."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

cp = pytest.importorskip("cupy")
nccl = pytest.importorskip("cupy.cuda.nccl")

try:
    COUNT = cp.cuda.runtime.getDeviceCount()
except cp.cuda.runtime.CUDARuntimeError:
    COUNT = 0
if COUNT < 2 or not nccl.available:
    pytest.skip("fewer than two CUDA devices, or no NCCL", allow_module_level=True)

RANKS = Path(__file__).with_name("ranks.py")
CHECKS = re.findall(r"^@check\ndef (\w+)", RANKS.read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    path = os.pathsep.join(filter(None, sys.path))
    ranks = [
        subprocess.Popen(
            [sys.executable, "-P", str(RANKS), str(rank), port, str(folder / str(rank))],
            env={**os.environ, "PYTHONPATH": path},
        )
        for rank in (0, 1)
    ]
    try:
        for rank in ranks:
            rank.wait(timeout=300)
    finally:
        for rank in ranks:
            rank.kill()
    return [json.loads((folder / str(rank)).read_text()) for rank in (0, 1)]


@pytest.mark.parametrize("check", CHECKS)
def test_ranks(found, check):
    failures = [told.get(check, "it was not reached") for told in found]
    if any(failures):
        pytest.fail("\n".join(failures), pytrace=False)
