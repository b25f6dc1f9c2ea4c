"""The configuration: which source wins, and what is said about faults."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.cli.runner import call

from regard.errors import SettingsError
from regard.server.config import read_configuration


def test_a_flag_wins_over_a_variable_a_file_and_the_default(tmp_path: Path):
    file = tmp_path / "serve.toml"
    file.write_text('[serve]\nport = 1\nhost = "a"\nengines = 2\nmodels = ["m", "n"]\n[decode]\nbeam_size = 2\n')
    environment = {"REGARD_SERVE_PORT": "2", "REGARD_SERVE_HOST": "b", "REGARD_SERVE_ALLOW_HOSTS": "x, y", "PATH": ""}
    found = read_configuration({"port": 4}, ["serve.port=3", "serve.deadline=9"], file, environment)
    settings, sources = found.settings, found.sources
    assert (settings.port, settings.host, settings.engines, settings.deadline) == (4, "b", 2, 9.0)
    assert (settings.models, settings.allow_hosts, settings.char_limit) == (("m", "n"), ("x", "y"), 5000)
    assert found.decode == {"beam_size": 2}
    assert [sources[name] for name in ("port", "host", "engines", "deadline", "char_limit")] == [
        "--port",
        "REGARD_SERVE_HOST",
        str(file),
        "--set",
        "default",
    ]
    assert tomllib.loads("\n".join(found.lines()))["serve"]["models"] == ["m", "n"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[serve", "not valid TOML"),
        ("[server]\n", "unknown section 'server'; the sections of a server are serve and decode"),
        ("serve = 3\n", "serve must be a section, written [serve]"),
        ("[serve]\nprot = 1\n", "unknown setting serve.prot; did you mean serve.port?"),
        ('[serve]\nport = "1"\n', "serve.port must be a whole number, got '1'"),
        ("[serve]\nport = 70000\n", "serve.port must be at most 65,535, got 70,000"),
        ("[serve]\nport = true\n", "serve.port must be a whole number, got True"),
        ("[serve]\nmodels = [1]\n", "serve.models must be a list of texts that are not empty, got 1"),
        ('[serve]\nmodels = "a"\n', "serve.models must be a list of texts, got 'a'"),
        ("[serve]\ndeadline = 0\n", "serve.deadline must be above 0, got 0.0"),
        ('[serve]\nroot_path = "a/"\n', "serve.root_path starts with / and does not end with it, got 'a/'"),
        ("[decode]\nbeam = 1\n", "unknown setting decode.beam; did you mean decode.beam_size?"),
        ("[decode]\nprefix = 'a'\n", "unknown setting decode.prefix"),
        ("[decode]\nbeam_size = '1'\n", "decode.beam_size must be a whole number, got '1'"),
    ],
)
def test_a_fault_in_the_file(tmp_path: Path, text: str, problem: str):
    file = tmp_path / "serve.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as refused:
        read_configuration({}, [], file, {})
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("overrides", "environment", "problem"),
    [
        (["port=3"], {}, "--set port=3: write it as serve.name=value"),
        (["serve.prot=3"], {}, "--set: unknown setting serve.prot; did you mean serve.port?"),
        (["serve.port=x"], {}, "serve.port must be a whole number, got 'x'"),
        ([], {"REGARD_SERVE_PROT": "3"}, "REGARD_SERVE_PROT: unknown setting serve.prot; did you mean serve.port?"),
        ([], {"REGARD_SERVE_PORT": "x"}, "REGARD_SERVE_PORT must be a whole number, got 'x'"),
        ([], {"REGARD_SERVE_METRICS": "yes"}, "REGARD_SERVE_METRICS must be true or false, got 'yes'"),
    ],
)
def test_a_fault_elsewhere(overrides: list[str], environment: dict[str, str], problem: str):
    with pytest.raises(SettingsError) as refused:
        read_configuration({}, overrides, None, environment)
    assert problem in str(refused.value)


def check(*arguments: Any) -> tuple[int, str, str]:
    done = call("serve", "--check", *arguments)
    return done.code, done.output.decode(), done.said


def test_check_prints_effective_values_without_secrets(tmp_path: Path):
    keys = tmp_path / "keys.toml"
    [key] = call("serve", "new-key", "a", "--keys", keys).lines
    code, output, _ = check("--keys", keys, "--port", 8080, "--state", tmp_path / "state")
    values = tomllib.loads(output)["serve"]
    assert (code, values["port"], values["keys"]) == (0, 8080, str(keys))
    assert "port = 8080  # --port" in output and 'host = "127.0.0.1"  # default' in output
    assert key not in output and "sha256" not in output
    assert not (tmp_path / "state").exists()


def test_check_reports_faults_with_exit_code_2(tmp_path: Path):
    for arguments, problem in (
        (("--model", tmp_path / "none"), "none"),
        (("--model", "en-fr", "--model", "en-fr"), "two models are named en-fr"),
        (("--keys", tmp_path / "none.toml"), "no such keys file"),
        (("--config", tmp_path / "none.toml"), "no such settings file"),
        (("--port", -1), "serve.port must be at least 0"),
        (("--engines", 0), "serve.engines must be at least 1"),
    ):
        code, output, said = check(*arguments)
        assert code == 2 and output == "" and problem in said and "Traceback" not in said, (arguments, said)


def test_a_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("regard.cli.commands.serve._LIBRARIES", ("a_library_that_is_not_there",))
    code, _, said = check()
    assert code == 2 and "pip install regard[serve]" in said


def test_a_printed_text_is_read_back() -> None:
    from regard.server.config import _toml

    for text in ("a\nb", 'C:\\"é"\t', "😀"):
        assert tomllib.loads(f"x = {_toml(text)}") == {"x": text}
