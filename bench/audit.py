"""Known vulnerabilities of the pinned and of the lowest versions; fails on those that have a fix.

    python bench/audit.py constraints.txt lowest.txt

Each file lists exact versions. pip-audit asks the advisories of the package index about them. A
version that could not be looked up fails too: an audit that saw nothing must not pass.
"""

import json
import subprocess
import sys
from typing import Any


def audited(path: str) -> dict[str, Any]:
    """Return pip-audit's report on the versions in a file."""
    command = [sys.executable, "-m", "pip_audit", "-r", path, "--no-deps", "--disable-pip"]
    done = subprocess.run([*command, "-f", "json"], capture_output=True, text=True)
    if not done.stdout.strip():
        last = done.stderr.strip().split("\n")[-1]
        sys.exit(f"{path}: pip-audit reached no advisories ({last}); nothing was audited")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def findings(path: str, report: dict[str, Any]) -> list[str]:
    """List what is wrong with a report: fixable vulnerabilities, and versions not looked up."""
    found, unseen = [], []
    for package in report["dependencies"]:
        if "skip_reason" in package:
            unseen.append(package["name"])
        for advisory in package.get("vulns", []):
            if advisory["fix_versions"]:
                named = f"{package['name']} {package['version']}: {advisory['id']}"
                found.append(f"{path}: {named}, fixed in {', '.join(advisory['fix_versions'])}")
    if unseen:
        found.append(
            f"{path}: no advisories could be looked up for {len(unseen)} of "
            f"{len(report['dependencies'])} packages ({', '.join(unseen[:5])} ...): the package "
            "index serves none of them here; run the audit where https://pypi.org/pypi answers"
        )
    return found


def main() -> None:
    """Print the findings of every file; exit with 1 if there are any."""
    found = [line for path in sys.argv[1:] for line in findings(path, audited(path))]
    print("\n".join(found) or "no known vulnerability that has a fix")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
