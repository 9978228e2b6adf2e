"""Readiness of Ceph's daemons: the rendered probe asks a socket that speaks as a daemon's admin socket does."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread

import pytest

from blueprint.openstack.projects.process_definition import Exec
from openstack import scripts
from openstack.config import ports
from openstack.config.formats import public_text
from tests.fakes import script
from tests.openstack.projects.test_ceph import CEPH, WIRING
from tests.projects import PROCESSES

DAEMONS = {container.name: container for name in ("ceph-mon", "ceph-osd") for container in PROCESSES[name].containers}


@contextmanager
def daemon(path: Path, answers: Mapping[str, bytes]) -> Generator[None]:
    """Answers commands with their bytes; others, and commands that are not ended by a zero, with nothing."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        thread = Thread(target=_serve, args=(server, answers), daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def _serve(server: socket.socket, answers: Mapping[str, bytes]) -> None:
    while True:
        try:
            client, _ = server.accept()
        except OSError:
            return
        with client:
            asked = b""
            while not asked.endswith(b"\0") and (part := client.recv(100)):
                asked += part
            client.sendall(answers.get(json.loads(asked.rstrip(b"\0"))["prefix"], b""))


def framed(answer: object) -> bytes:
    text = json.dumps(answer).encode()
    return struct.pack(">I", len(text)) + text


def ready(name: str, directory: Path) -> bool:
    probe = DAEMONS[name].ready
    assert isinstance(probe, Exec)
    command = [word.replace("/run/ceph", str(directory)) for word in probe.command]
    environment = {"PATH": os.environ["PATH"], "POD_NAME": "ceph-mon-0"}
    return subprocess.run(command, env=environment, check=False, stderr=subprocess.DEVNULL, timeout=30).returncode == 0


@pytest.mark.parametrize(
    ("state", "expected"),
    [("leader", True), ("peon", True), ("probing", False), ("electing", False), ("synchronizing", False)],
)
def test_a_monitor_is_ready_in_the_quorum_only(tmp_path: Path, state: str, expected: bool) -> None:
    with daemon(tmp_path / "ceph-mon.ceph-mon-0.asok", {"mon_status": framed({"name": "a", "state": state})}):
        assert ready("ceph-mon", tmp_path) is expected


def metric(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return answer.read().decode().splitlines()[-1]


def test_a_monitor_tells_prometheus_whether_it_is_in_the_quorum(tmp_path: Path) -> None:
    """Also one that has no socket yet, or that answers nothing."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = tmp_path / "ceph-mon.ceph-mon-0.asok"
    (file,) = [each for each in CEPH.configure(WIRING, "ceph-mon") if each.name == "ceph_state.py"]
    program = tmp_path / "ceph_state.py"
    program.write_text(public_text(file) or "", encoding="utf-8")
    command = [sys.executable, "-IS", program, "serve", "127.0.0.1", str(port), "mon_status", path, "leader", "peon"]
    with subprocess.Popen(command) as server:
        try:
            until(lambda: socket.create_connection(("127.0.0.1", port), 1).close() is None)
            assert metric(port) == "quorate_ceph_takes_part 0"
            for answer, value in ((framed({"state": "peon"}), 1), (framed({"state": "probing"}), 0), (b"", 0)):
                with daemon(path, {"mon_status": answer}):
                    assert metric(port) == f"quorate_ceph_takes_part {value}"
                path.unlink()
        finally:
            server.kill()


def until(works: Callable[[], bool]) -> None:
    """Waits until a call succeeds."""
    ends = time.monotonic() + 60
    while True:
        try:
            assert works()
        except OSError:
            assert time.monotonic() < ends
            time.sleep(0.1)
        else:
            return


def test_the_program_beside_a_monitor_is_started_until_it_serves(tmp_path: Path) -> None:
    script(tmp_path / "bin", "python3", f'echo "$*" >>{tmp_path}/said; [ "$(wc -l <{tmp_path}/said)" = 3 ]')
    script(tmp_path / "bin", "sleep", "")
    text = scripts.text("ceph_mon.sh")
    begin = text.index("until python3")
    command = f"configuration=/etc/ceph\n{text[begin : text.index('&', begin) + 1]}\nwait"
    environment = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "POD_NAME": "ceph-mon-0", "POD_IP": "10.0.0.1"}
    subprocess.run(["bash", "-ec", command], env=environment, check=True, timeout=60)
    (said,) = set((tmp_path / "said").read_text(encoding="utf-8").splitlines())
    assert said == (
        f"-IS /etc/ceph/ceph_state.py serve 10.0.0.1 {ports.CEPH_QUORUM} "
        "mon_status /run/ceph/ceph-mon.ceph-mon-0.asok leader peon"
    )


def test_a_monitor_has_the_program_that_it_starts() -> None:
    assert "/etc/ceph/ceph_state.py" in {file.path for file in DAEMONS["ceph-mon"].files}
    assert ports.CEPH_METRICS == 9283, "the module's own default"


def test_nothing_is_ready_without_its_socket(tmp_path: Path) -> None:
    with daemon(tmp_path / "ceph-mon.ceph-mon-1.asok", {"mon_status": framed({"state": "leader"})}):
        assert not any(ready(name, tmp_path) for name in DAEMONS)


def test_a_manager_is_ready_when_it_answers(tmp_path: Path) -> None:
    with daemon(tmp_path / "ceph-mgr.ceph-mon-0.asok", {"version": framed({"version": "20.2.5"})}):
        assert ready("ceph-mgr", tmp_path)


def test_a_storage_node_is_ready_when_all_its_daemons_are_active(tmp_path: Path) -> None:
    for second, expected in (("active", True), ("booting", False)):
        with ExitStack() as stack:
            for number, state in ((3, "active"), (11, second)):
                path = tmp_path / f"ceph-osd.{number}.asok"
                path.unlink(missing_ok=True)
                stack.enter_context(daemon(path, {"status": framed({"state": state})}))
            assert ready("ceph-osd", tmp_path) is expected


@pytest.mark.parametrize("answer", [b"", b"\0\0\0\x7f{", framed({"state": "leader"})[:-3], framed([])[:4]])
def test_a_broken_answer_is_no_answer(tmp_path: Path, answer: bytes) -> None:
    with daemon(tmp_path / "ceph-mon.ceph-mon-0.asok", {"mon_status": answer}):
        assert not ready("ceph-mon", tmp_path)
