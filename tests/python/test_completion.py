"""The completion scripts: the script for bash is run in bash; those for zsh and fish contain every command."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bloatlab.cli.main import app, call


def _script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert call(["completion", shell]) == 0
    return capsys.readouterr().out


def _completed(script: Path, words: list[str]) -> list[str]:
    """Returns the completions that bash offers for the last of `words`."""
    line = " ".join(f"'{w}'" for w in words)
    text = (
        f"source {script}; complete -p bloatlab >/dev/null || exit 9; "
        f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _bloatlab; "
        "printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(
        [shutil.which("bash") or "bash", "-c", text], capture_output=True, text=True, check=True, cwd=script.parent
    )
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes_commands_options_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    script = tmp_path / "completion.bash"
    script.write_text(_script("bash", capsys))
    (tmp_path / "modem.toml").touch()
    assert _completed(script, ["bloatlab", "val"]) == ["validate"]
    assert set(_completed(script, ["bloatlab", "c"])) >= {"check", "compare", "completion"}
    assert "--jobs" in _completed(script, ["bloatlab", "sweep", "--j"])
    for command in ("run", "compare"):
        assert _completed(script, ["bloatlab", command, "mod"]) == ["modem.toml"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_every_command_is_in_the_script(shell: str, capsys: pytest.CaptureFixture[str]):
    script = _script(shell, capsys)
    commands = {name for name in app if not name.startswith("-")}
    assert commands >= {"run", "sweep", "tc", "check", "store"}
    assert all(name in script for name in commands)


def test_another_shell_is_refused_in_a_line(capsys: pytest.CaptureFixture[str]):
    assert call(["completion", "tcsh"]) == 2
    assert "Traceback" not in capsys.readouterr().err
