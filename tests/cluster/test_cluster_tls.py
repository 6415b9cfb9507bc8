"""A Dask cluster with certificates, on loopback, and what is said when they are wrong."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from typer.testing import CliRunner

from ethereal import cluster
from ethereal.cli import app
from ethereal.cluster import ClusterError, Tls
from ethereal.cluster import dask as cluster_dask
from says import says

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Two that signed themselves, so each is its own authority."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("own", "foreign"):
        command = (
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x"
        )
        subprocess.run(
            [*command.split(), "-keyout", f"{name}.key", "-out", f"{name}.pem"],
            cwd=folder, check=True, capture_output=True,
        )  # fmt: skip
    return folder


def files(folder, ca="own.pem", cert="own.pem", key="own.key"):
    return Tls(folder / ca, folder / cert, folder / key)


@pytest.fixture(scope="module")
def address(certificates):
    certificate, key = str(certificates / "own.pem"), str(certificates / "own.key")
    roles = {f"tls_{role}_{part}": file for role in ("scheduler", "worker", "client")
             for part, file in (("cert", certificate), ("key", key))}  # fmt: skip
    security = distributed.Security(require_encryption=True, tls_ca_file=certificate, **roles)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, host="tls://127.0.0.1",
        security=security,
    ) as local:  # fmt: skip
        yield local.scheduler_address


def test_work_on_an_encrypted_cluster(address, certificates):
    assert address.startswith("tls://")
    for form in (address, address.removeprefix("tls://")):
        with cluster.choose(dask=form, tls=files(certificates)) as workers:
            assert workers.submit(divmod, 7, 2).result() == (3, 1)


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"ca": "none.pem"}, "tls_ca.*'.*none.pem'"),
        ({"key": "none.key"}, "tls_key.*'.*none.key'"),
        ({"key": "foreign.key"}, "tls_key.*tls_cert"),
        ({"cert": "own.key"}, r"the certificates cannot be used: "),
        ({"ca": "foreign.pem"}, r"CERTIFICATE_VERIFY_FAILED\).*tls_ca"),
        ({"cert": "foreign.pem", "key": "foreign.key"}, "Dask.*tls://"),
    ],
)
def test_wrong_files_are_named(wrong, message, address, certificates, monkeypatch):
    monkeypatch.setattr(cluster_dask, "_CONNECT_SECONDS", 1)
    with pytest.raises(ClusterError, match=message):
        cluster.connect(address, files(certificates, **wrong))


def test_certificates_and_address_must_belong_together(certificates, monkeypatch):
    monkeypatch.setattr(cluster_dask, "_CONNECT_SECONDS", 1)
    with pytest.raises(ClusterError, match=r"tcp://127.0.0.1:1.*encrypted\. Write tls://"):
        cluster.connect("tcp://127.0.0.1:1", files(certificates))
    with pytest.raises(ClusterError, match="Certificates are given, but no cluster"):
        cluster.choose(workers=2, tls=files(certificates))
    with pytest.raises(ClusterError, match=r"tls://127.0.0.1:1.*tls_ca="):
        cluster.connect("tls://127.0.0.1:1")


@pytest.mark.parametrize("command", ["study table2", "tune digits --out m.etm --flash 4k"])
def test_commands_take_the_files(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [*command.split(), "--dask", "tls://127.0.0.1:1", "--tls-ca", "a.pem"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1
    says(done.stderr, "--tls-cert", "--tls-key", "missing", "Give")
    done = CliRunner().invoke(app, [*words, "--tls-cert", "b.pem", "--tls-key", "c.pem"])
    assert done.exit_code == 1
    says(done.stderr, "--tls-ca", "'a.pem'")
