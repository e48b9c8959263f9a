"""A real headless browser (Debian's chromium): what it makes of a page, and the axe rules on it."""

import html
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness import node_packages
from harness.node_packages import CACHE, NotInstalled

PINNED = Path(__file__).parent / "browser"
LOADED_WITHIN_S = 90
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
_RESULT = re.compile(r'<pre id="axe-result">(.*?)</pre>', re.DOTALL)
_RUN = """
{before}
axe.run(document, {{resultTypes: ["violations"]}}).then(function (found) {{
  var pre = document.createElement("pre");
  pre.id = "axe-result";
  pre.textContent = JSON.stringify({{
    passes: found.passes.length,
    violations: found.violations.map(function (rule) {{
      return rule.id + ": " + rule.nodes.slice(0, 3).map(function (node) {{
        return node.target.join(" ") + " " + node.failureSummary;
      }}).join(" | ");
    }})
  }});
  document.body.replaceChildren(pre);
}});
"""

_RUN_ALL = """
var pages = {pages}, results = {{}};
Object.keys(pages).reduce(function (last, name) {{
  return last.then(function () {{
    document.documentElement.innerHTML = pages[name];
    {before}
    return axe.run(document, {{resultTypes: ["violations"]}});
  }}).then(function (found) {{
    if (found.passes.length < 10) throw new Error("axe looked at next to nothing");
    results[name] = found.violations.map(function (rule) {{
      return rule.id + ": " + rule.nodes.slice(0, 3).map(function (node) {{
        return node.target.join(" ") + " " + node.failureSummary;
      }}).join(" | ");
    }});
  }});
}}, Promise.resolve()).then(function () {{
  var pre = document.createElement("pre");
  pre.id = "axe-result";
  pre.textContent = JSON.stringify(results);
  document.body.replaceChildren(pre);
}});
"""


@dataclass(frozen=True)
class Loaded:
    """The document as the browser made it, and what it complained about."""

    document: str
    complaints: str


class Browser:
    """Loads pages from files, with nothing of the network."""

    def __init__(self, program: str, folder: Path, axe: str) -> None:
        self._program, self._folder, self._axe = program, folder, axe

    def load(self, page: Path, width: int = 1280) -> Loaded:
        """The page, its scripts run."""
        done = subprocess.run(
            [
                self._program,
                *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
                *("--enable-logging=stderr", f"--window-size={width},1600"),
                *(f"--user-data-dir={self._folder / 'profile'}", "--host-resolver-rules=MAP * ~"),
                *("--virtual-time-budget=30000", "--dump-dom", page.as_uri()),
            ],
            capture_output=True,
            text=True,
            timeout=LOADED_WITHIN_S,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return Loaded(done.stdout, done.stderr)

    def acted(self, page: Path, script: str, width: int = 1280) -> Loaded:
        """The page after a script ran at its end; its own policy is left out, so that it may."""
        text = _POLICY.sub("", page.read_text(encoding="utf-8"))
        head, _, tail = text.rpartition("</body>")
        other = self._folder / "acted.html"
        other.write_text(f"{head}<script>{script}</script></body>{tail}", encoding="utf-8")
        return self.load(other, width)

    def violations_of_all(
        self, pages: Mapping[str, Path], before: str = ""
    ) -> dict[str, list[str]]:
        """The rules each of several pages breaks, in one browser: a start costs more than a look.

        Their scripts do not run, as without JavaScript; `before` is script that runs on each.
        """
        texts = {
            name: _POLICY.sub("", page.read_text(encoding="utf-8")) for name, page in pages.items()
        }
        # No tag of a page may end the script that carries it.
        carried = json.dumps(texts).replace("</", "<\\/")
        runner = self._folder / "runner.html"
        runner.write_text(
            "<!doctype html><html lang='en'><head><title>all</title></head><body>"
            f"<script>{self._axe}</script>"
            f"<script>{_RUN_ALL.format(before=before, pages=carried)}</script></body></html>",
            encoding="utf-8",
        )
        found = _RESULT.search(self.load(runner).document)
        assert found, "axe did not finish"
        results: dict[str, list[str]] = json.loads(html.unescape(found[1]))
        assert list(results) == list(pages)
        return results

    def violations(self, page: Path, before: str = "", width: int = 1280) -> list[str]:
        """The accessibility rules a page breaks, with where; `before` is script that runs first."""
        script = f"{self._axe}</script><script>{_RUN.format(before=before)}"
        found = _RESULT.search(self.acted(page, script, width).document)
        assert found, "axe did not finish"
        result: dict[str, Any] = json.loads(html.unescape(found[1]))
        assert result["passes"] > 10, "axe looked at next to nothing"
        listed: list[str] = result["violations"]
        return listed


def lacking(why: str) -> None:
    """Skip with a reason; where everything is required, fail."""
    if os.environ.get("CORTEX_REQUIRE_ALL"):
        pytest.fail(why)
    pytest.skip(why)


def browser(folder: Path) -> Browser:
    """The browser, where there is one."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        lacking("no chromium here; `make browser` installs it")
    try:
        packages = node_packages.installed(PINNED, "report-rules", CACHE, folder)
    except NotInstalled as err:
        lacking(str(err))
    axe = packages / "node_modules" / "axe-core" / "axe.min.js"
    assert program is not None
    return Browser(program, folder, axe.read_text(encoding="utf-8"))
