"""The registry: lazy, exact about names, and unharmed by what others have installed."""

import importlib.metadata
import subprocess
import sys
import threading

import pytest
from support.distributions import announce, plugin

import forgenb as fnb
from forgenb.backend import discovery, registry
from forgenb.errors import ArgumentError, BackendBroken, BackendError


@pytest.fixture(autouse=True)
def slots(monkeypatch):
    """Slots of the test's own, which start without any loaded backend."""
    monkeypatch.setattr(registry, "_SLOTS", {})
    for name in ("FORGENB_BACKEND", "FORGENB_DISABLE_PLUGINS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder from which modules and metadata are found."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in sys.modules[name].__file__:
            del sys.modules[name]


def row(name):
    return next(r for r in fnb.backends() if r["name"] == name)


def test_listing_imports_no_plugin():
    code = (
        "import sys, forgenb; rows = forgenb.backends();"
        "print([m for m in sys.modules if m.startswith(('forgenb_', 'numba.cuda', 'numba_cuda'))], len(rows))"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[] ")


def test_a_row_says_who_announces_it_and_how_it_stands():
    found = row("cpu")
    assert found == {
        "name": "cpu",
        "distribution": "forgenb",
        "version": importlib.metadata.version("forgenb"),
        "state": "not loaded",
        "reason": "",
        "supplier": "",
    }
    fnb.backend.get_backend("cpu")
    assert row("cpu")["state"] == "ready"


def test_rows_are_in_order_of_name():
    names = [r["name"] for r in fnb.backends()]
    assert names == sorted(names)
    assert {"cpu", "python"} <= set(names)


def test_a_strangers_plugin_is_found_and_loaded_when_named(site):
    announce(site, "stranger", {"strange": "strange_module"})
    plugin(site, "strange_module", name="strange")
    assert row("strange")["state"] == "not loaded"
    assert "strange_module" not in sys.modules
    assert fnb.backend.get_backend("strange").name == "strange"
    assert fnb.backend.get_backend("strange") is fnb.backend.get_backend("strange")
    assert row("strange")["state"] == "ready"


def test_an_unknown_name_gives_the_list_and_the_nearest():
    with pytest.raises(BackendError, match=r"no backend 'pyhton'; installed are .*cpu.*did you mean 'python'\?"):
        fnb.tensor(1.0, backend="pyhton")


def test_an_unknown_name_in_the_variable_names_the_variable(monkeypatch):
    monkeypatch.setenv("FORGENB_BACKEND", "cpuu")
    with pytest.raises(BackendError, match=r"FORGENB_BACKEND='cpuu' names no backend.*did you mean 'cpu'\?"):
        fnb.tensor(1.0)
    with pytest.raises(BackendError, match="there is no backend 'other'"):
        fnb.tensor(1.0, backend="other")
    assert fnb.tensor(1.0, backend="cpu").backend.name == "cpu"


def test_argument_then_block_then_variable_then_cpu(monkeypatch):
    assert fnb.tensor(1.0).backend.name == "cpu"
    monkeypatch.setenv("FORGENB_BACKEND", "python")
    assert fnb.tensor(1.0).backend.name == "python"
    with fnb.use("cpu"):
        assert fnb.tensor(1.0).backend.name == "cpu"
        with fnb.use("python"):
            assert fnb.tensor(1.0).backend.name == "python"
            assert fnb.tensor(1.0, backend="cpu").backend.name == "cpu"
        assert fnb.tensor(1.0).backend.name == "cpu"
    assert fnb.tensor(1.0).backend.name == "python"


def test_nothing_installed_says_how_to_install(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [])
    with pytest.raises(BackendError, match="pip install -e"):
        fnb.backend.get_backend()


BROKEN = {
    "import": ("raise RuntimeError('no such device')", "RuntimeError: no such device"),
    "syntax": ("def (", "SyntaxError"),
    "old": ("API = 0\ndef available(): return None\ndef create(): return 1", "speaks API 0, this forgenb speaks API 1"),
    "none": ("x = 1", "speaks API None, this forgenb speaks API 1"),
    "away": ("API = 1\ndef available(): return 'no card is plugged in'", "not available here: no card is plugged in"),
    "create": ("API = 1\ndef available(): return None\ndef create(): return 1 / 0", "ZeroDivisionError"),
    "lacking": ("API = 1", "AttributeError"),
    "leaving": ("raise SystemExit(3)", "SystemExit: 3"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_plugin_keeps_its_reason_and_nothing_else_notices(site, kind):
    text, reason = BROKEN[kind]
    announce(site, "stranger", {"strange": "strange_module"}, version="3.1")
    plugin(site, "strange_module", text)
    assert row("strange")["reason"] == ""
    messages = []
    for _ in range(2):
        with pytest.raises(BackendBroken, match="strange.*of stranger 3.1.*strange_module") as caught:
            fnb.backend.get_backend("strange")
        messages.append(str(caught.value))
        assert reason in messages[-1]
    assert messages[0] == messages[1]
    assert (row("strange")["state"], row("strange")["reason"]) == ("broken", messages[0])
    assert (fnb.tensor([1.0]) + 1).tolist() == [2.0]


def test_the_cause_is_chained_each_time(site):
    announce(site, "stranger", {"strange": "strange_module"})
    plugin(site, "strange_module", "raise RuntimeError('no such device')")
    for _ in range(2):
        with pytest.raises(BackendBroken, match="strange") as caught:
            fnb.backend.get_backend("strange")
        assert isinstance(caught.value.__cause__, RuntimeError)


def test_threads_that_ask_at_once_get_one_object(site):
    announce(site, "stranger", {"strange": "strange_module"})
    slow = (
        "API = 1\ndef available(): return None\ndef create():\n    import time; time.sleep(0.05)\n    return object()"
    )
    plugin(site, "strange_module", slow)
    found = []
    threads = [threading.Thread(target=lambda: found.append(fnb.backend.get_backend("strange"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(map(id, found))) == 1


def test_a_choice_is_that_of_its_thread():
    found = []
    with fnb.use("python"):
        thread = threading.Thread(target=lambda: found.append(fnb.tensor(1.0).backend.name))
        thread.start()
        thread.join()
    assert found == ["cpu"]


def test_a_broken_plugin_is_not_imported_twice(site, monkeypatch):
    announce(site, "stranger", {"strange": "strange_module"})
    plugin(site, "strange_module", "import sys\nsys.strange_count += 1\nraise RuntimeError('broken')")
    monkeypatch.setattr(sys, "strange_count", 0, raising=False)
    for _ in range(3):
        with pytest.raises(BackendBroken, match="broken"):
            fnb.backend.get_backend("strange")
    assert sys.strange_count == 1


@pytest.mark.parametrize("kind", sorted(set(BROKEN) - {"away"}))
def test_refresh_tries_again_when_the_cause_is_gone(site, kind):
    """P110."""
    announce(site, "stranger", {"strange": "strange_module"})
    plugin(site, "strange_module", BROKEN[kind][0])
    with pytest.raises(BackendBroken, match="strange"):
        fnb.backend.get_backend("strange")
    plugin(site, "strange_module", name="strange")
    fnb.backend.refresh()
    assert fnb.backend.get_backend("strange").name == "strange"


def test_refresh_asks_again_whether_it_is_available(site, monkeypatch):
    announce(site, "stranger", {"strange": "strange_module"})
    available = "def available():\n    import os\n    return os.environ.get('STRANGE_REASON')\n"
    plugin(site, "strange_module", f"API = 1\n{available}\ndef create():\n    return 'made'")
    monkeypatch.setenv("STRANGE_REASON", "unplugged")
    with pytest.raises(BackendBroken, match="not available here: unplugged"):
        fnb.backend.get_backend("strange")
    module = sys.modules["strange_module"]
    monkeypatch.delenv("STRANGE_REASON")
    fnb.backend.refresh()
    assert fnb.backend.get_backend("strange") == "made"
    assert sys.modules["strange_module"] is module


def test_an_absent_module_can_be_installed_later(site):
    announce(site, "stranger", {"strange": "strange_module"})
    with pytest.raises(BackendBroken, match="ModuleNotFoundError"):
        fnb.backend.get_backend("strange")
    plugin(site, "strange_module", name="strange")
    with pytest.raises(BackendBroken, match="ModuleNotFoundError"):
        fnb.backend.get_backend("strange")
    fnb.backend.refresh()
    assert fnb.backend.get_backend("strange").name == "strange"


def test_refresh_keeps_what_works_and_finds_what_is_new(site):
    cpu = fnb.backend.get_backend("cpu")
    announce(site, "stranger", {"strange": "strange_module"})
    assert "strange" not in {r["name"] for r in fnb.backends()}
    fnb.backend.refresh()
    assert "strange" in {r["name"] for r in fnb.backends()}
    assert fnb.backend.get_backend("cpu") is cpu


@pytest.mark.parametrize("name", ["strange", "cpu"])
def test_two_distributions_with_one_name_break_that_slot_alone(site, name):
    announce(site, "stranger", {name: "strange_module"}, version="1.5")
    if name != "cpu":
        announce(site, "another", {name: "another_module"}, version="2.5")
    for module in ("strange_module", "another_module"):
        plugin(site, module)
    other = "forgenb" if name == "cpu" else "another 2.5"
    with pytest.raises(BackendBroken, match=f"two distributions announce the backend '{name}'") as caught:
        fnb.backend.get_backend(name)
    assert "stranger 1.5" in str(caught.value)
    assert other in str(caught.value)
    assert row(name)["state"] == "broken"
    assert "strange_module" not in sys.modules
    assert fnb.tensor(1.0, backend="python").item() == 1.0


def test_a_duplicate_that_is_uninstalled_frees_the_name(site):
    announce(site / "one", "stranger", {"strange": "strange_module"})
    announce(site / "two", "another", {"strange": "strange_module"})
    plugin(site, "strange_module", name="strange")
    sys.path[:0] = [str(site / "one"), str(site / "two")]
    try:
        with pytest.raises(BackendBroken, match="two distributions"):
            fnb.backend.get_backend("strange")
        sys.path.remove(str(site / "two"))
        fnb.backend.refresh()
        assert fnb.backend.get_backend("strange").name == "strange"
    finally:
        sys.path[:] = [p for p in sys.path if p not in (str(site / "one"), str(site / "two"))]


@pytest.mark.parametrize("name", ["Strange", "my-backend", "2d", "_hidden", "ä"])
def test_a_name_that_no_backend_may_have(site, name):
    announce(site, "stranger", {name: "strange_module"})
    plugin(site, "strange_module")
    with pytest.raises(BackendBroken, match="has a name that no backend may have"):
        fnb.backend.get_backend(name)
    assert row(name)["state"] == "broken"
    assert fnb.tensor(1.0).item() == 1.0


def test_entry_points_that_cannot_be_read_are_left_out(site):
    announce(site, "stranger", {"strange": "strange_module"})
    wreck = announce(site, "wreck", {}) / "wreck-1.0.dist-info" / "entry_points.txt"
    wreck.write_text("[forgenb.backends]\nno equals sign here\n")
    names = {r["name"] for r in fnb.backends()}
    assert {"cpu", "python", "strange"} <= names


def test_plugins_can_be_switched_off(site, monkeypatch):
    announce(site, "stranger", {"strange": "strange_module", "cpu": "strange_module"})
    monkeypatch.setenv("FORGENB_DISABLE_PLUGINS", "1")
    assert {r["distribution"] for r in fnb.backends()} == {"forgenb"}
    assert fnb.tensor(1.0).backend.name == "cpu"
    with pytest.raises(BackendError, match="no backend 'strange'"):
        fnb.backend.get_backend("strange")
    monkeypatch.setenv("FORGENB_DISABLE_PLUGINS", "0")
    fnb.backend.refresh()
    assert row("strange")["state"] == "not loaded"


@pytest.mark.parametrize("word", ["true", "yes", "on", "2", " 1", "01", "false"])
def test_the_switch_takes_0_and_1_alone(monkeypatch, word):
    monkeypatch.setenv("FORGENB_DISABLE_PLUGINS", word)
    with pytest.raises(ArgumentError, match=f"FORGENB_DISABLE_PLUGINS must be 0 or 1, got '{word}'"):
        fnb.backends()


@pytest.mark.parametrize(
    ("installed", "hooked", "supplier"),
    [
        ({"numba": "0.68", "numba-cuda": "0.30"}, True, "numba-cuda 0.30"),
        ({"numba": "0.68", "numba-cuda": "0.30"}, False, "numba 0.68"),
        ({"numba": "0.68"}, False, "numba 0.68"),
        ({}, False, ""),
    ],
)
def test_who_supplies_numba_cuda(monkeypatch, installed, hooked, supplier):
    def version(name):
        if name in installed:
            return installed[name]
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.delitem(sys.modules, "_numba_cuda_redirector", raising=False)
    if hooked:
        monkeypatch.setitem(sys.modules, "_numba_cuda_redirector", sys)
    assert discovery.cuda_supplier() == supplier
    assert row("cuda")["supplier"] == supplier


def test_messages_are_one_paragraph(site):
    announce(site, "stranger", {"strange": "strange_module"})
    with pytest.raises(BackendBroken, match="strange") as caught:
        fnb.backend.get_backend("strange")
    assert "\n" not in str(caught.value)
    assert caught.value.args == (str(caught.value),)
